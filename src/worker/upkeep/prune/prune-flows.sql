-- Remove flows that ended a week ago, with their nodes, once their outputs are gone (prune-flow-outputs.sql).
with gone as (
  delete from stint.flow
   where id = any(array(
           select flow.id
             from stint.flow
            where flow.ended_at < stint.now() - interval '7 days'
              and not exists (select from stint.job where job.id = flow.parent_id)
              and not exists (select from stint.dead where dead.id = flow.parent_id)
              and not exists (select from stint.flow_output where flow_output.flow_id = flow.id)
            order by flow.ended_at
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
  returning id
), nodes as (
  delete from stint.flow_node
   where flow_id = any(array(select id from gone))
)
select count(*)::integer as removed from gone
