-- Lock a running job's row to the end of this transaction, where its lease still holds: no process settles or sweeps it
-- meanwhile. If the worker freezes here, the server ends its session once its lease could have run out.
select set_config('idle_in_transaction_session_timeout', :idleMs::text, true)
  from stint.job
 where id = :id::uuid
   and lease_id = :lease::uuid
   for no key update
