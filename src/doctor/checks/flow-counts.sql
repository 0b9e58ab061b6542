-- Nodes of open flows whose counts differ from the tables: the newest 200 open flows without an ending that waits to be counted,
-- and their nodes of up to 100 jobs. An open batch counts one job more than it has.
select flow.id, left(flow.name, 200) as name, left(node.name, 200) as node
  from (select id, name
          from stint.flow
         where ended_at is null
         order by id desc
         limit 200) as flow
 cross join lateral (
         select *
           from stint.flow_node
          where flow_node.flow_id = flow.id
            and flow_node.total <= 100
          order by flow_node.node
          limit 20) as node
 cross join lateral (
         select (select count(*)
                   from stint.jobs
                  where jobs.place = 'live'
                    and jobs.flow_id = node.flow_id
                    and jobs.node = node.node) as live) as there
 where node.remaining - node.is_open::integer <> there.live
   and not exists (select from stint.flow_ending where flow_ending.flow_id = flow.id)
 limit 100
