-- Mark the canary jobs of an operation.
update stint.operation_job
   set is_canary = true
 where operation_id = :id::uuid
   and id = any(:ids::uuid[])
