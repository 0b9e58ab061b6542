-- The jobs of an operation with one outcome, newest first.
select id, outcome, reason, fate
  from stint.operation_job
 where operation_id = :id::uuid
   and id <= :upTo::uuid
   and outcome = :outcome::text
 order by id desc
 limit :limit::integer
