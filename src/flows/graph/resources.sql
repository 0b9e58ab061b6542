-- The queues, kinds and keys of the jobs of some flows: what a console asks before it shows a flow to a person who may not see all
-- jobs. A flow of more than 20,000 jobs, or with more than 1,000 combinations, is not looked through: its row says so.
select asked.id as "flowId", found.queue, found.kind, found.key,
       found.jobs >= 20000 or found.place >= 1000 as "isCut"
  from unnest(:ids::uuid[]) as asked (id)
 cross join lateral (
         select queue, kind, key, sum(count(*)) over () as jobs, count(*) over () as place
           from (select queue, kind, key
                   from stint.jobs
                  where flow_id = asked.id
                  limit 20000) as member
          group by queue, kind, key
          limit 1000) as found
