-- The next jobs of an operation, newest first.
select id
  from stint.operation_job
 where operation_id = :id::uuid
   and outcome is null
   and (is_canary or not :onlyCanary::boolean)
 order by id desc
 limit :limit::integer
