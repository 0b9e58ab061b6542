-- Remove the outputs of flows that ended a week ago. Those of a flow whose parent is live or dead stay: its handler reads them
-- again when it goes on.
with gone as (
  delete from stint.flow_output
   where ctid = any(array(
           select output.ctid
             from stint.flow
            cross join lateral (
                    select flow_output.ctid
                      from stint.flow_output
                     where flow_output.flow_id = flow.id
                     limit 1000) as output
            where flow.ended_at < stint.now() - interval '7 days'
              and not exists (select from stint.job where job.id = flow.parent_id)
              and not exists (select from stint.dead where dead.id = flow.parent_id)
            order by flow.ended_at
           offset :skip::integer
            limit :limit::integer))
  returning flow_id
)
select count(*)::integer as removed from gone
