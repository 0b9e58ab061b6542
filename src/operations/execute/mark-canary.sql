-- Let these of an operation's jobs be tried first.
update stint.operation_job
   set is_canary = true
 where operation_id = :id::uuid
   and id = any(:ids::uuid[])
