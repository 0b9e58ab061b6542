-- Store the results of the canary so far.
update stint.operation
   set canary_result = :result::jsonb
 where id = :id::uuid
