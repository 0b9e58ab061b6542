-- How the canary of an operation fares so far.
update stint.operation
   set canary_result = :result::jsonb
 where id = :id::uuid
