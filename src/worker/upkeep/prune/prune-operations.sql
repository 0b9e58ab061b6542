-- Remove operations that ended 90 days ago, once their per-job results are removed.
with gone as (
  delete from stint.operation
   where id = any(array(
           select id
             from stint.operation
            where finished_at < stint.now() - interval '90 days'
              and not exists (select from stint.operation_job where operation_id = operation.id)
            order by id
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
  returning id
)
select count(*)::integer as removed from gone
