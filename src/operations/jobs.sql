-- The jobs of an operation with their outcomes, newest first.
select id, outcome, reason, fate
  from stint.operation_job
 where operation_id = :id::uuid
   and id <= :upTo::uuid
 order by id desc
 limit :limit::integer
