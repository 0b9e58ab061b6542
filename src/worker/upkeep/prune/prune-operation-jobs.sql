-- Remove the per-job results of operations that ended 90 days ago.
with gone as (
  delete from stint.operation_job
   where ctid = any(array(
           select operation_job.ctid
             from (select id
                     from stint.operation
                    where finished_at < stint.now() - interval '90 days'
                    order by id
                    limit 100) as old
             join stint.operation_job
               on operation_job.operation_id = old.id
           offset :skip::integer
            limit :limit::integer
              for update of operation_job skip locked))
  returning id
)
select count(*)::integer as removed from gone
