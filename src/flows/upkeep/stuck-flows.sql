-- Open flows with a node whose jobs may run, are not all counted, and are nowhere live, although no ending waits to be counted:
-- an ending was lost, for example because a job was deleted by hand. :after is the last flow of the page before.
select page.id, page.is_stuck as "isStuck"
  from (select flow.id,
               flow.created_at < stint.now() - interval '1 minute'
               and not exists (select from stint.flow_ending where flow_ending.flow_id = flow.id)
               and exists (select
                             from stint.flow_node as node
                            where node.flow_id = flow.id
                              and node.remaining > node.is_open::integer
                              and node.needs <= 0
                              and not exists (select from stint.job where job.flow_id = flow.id and job.node = node.node))
               as is_stuck
          from stint.flow
         where flow.ended_at is null
           and flow.id > :after::uuid
         order by flow.id
         limit 500) as page
 order by page.id
