-- Open flows that wait for the replay of a dead job since a while. The time is that of the death: a dead job of the flow that
-- died long ago. Looks at the 1,000 oldest open flows.
select flow.id, left(flow.name, 200) as name,
       ((extract(epoch from stint.now()) - extract(epoch from died.at))::float8 * 1000) as "heldMs"
  from (select id, name
          from stint.flow
         where ended_at is null
           and cancel_at is null
           and created_at < stint.now() - :heldMs::float8 * interval '1 millisecond'
         order by id
         limit 1000) as flow
 cross join lateral (
         select max(died_at) as at
           from (select finished_at as died_at
                   from stint.jobs
                  where jobs.place = 'dead'
                    and jobs.flow_id = flow.id
                    and jobs.discarded_at is null
                  limit 100) as dead) as died
 where died.at < stint.now() - :heldMs::float8 * interval '1 millisecond'
   and exists (select
                 from stint.flow_node as node
                where node.flow_id = flow.id
                  and node.dead > 0
                  and not node.is_complete)
   and not exists (select
                     from stint.flow_node as node
                    where node.flow_id = flow.id
                      and node.remaining > 0
                      and node.needs <= 0)
 order by died.at
 limit 100
