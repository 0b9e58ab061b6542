-- Hold a running job's row to the end of this transaction, where its lease still holds: nobody settles or sweeps it
-- meanwhile. A worker that freezes in here is ended by the server once its lease could have run out.
select set_config('idle_in_transaction_session_timeout', :idleMs::text, true)
  from stint.job
 where id = :id::uuid
   and lease_id = :lease::uuid
   for no key update
