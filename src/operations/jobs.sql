-- The jobs of an operation, newest first, with what became of each.
select id, outcome, reason, fate
  from stint.operation_job
 where operation_id = :id::uuid
   and id <= :upTo::uuid
 order by id desc
 limit :limit::integer
