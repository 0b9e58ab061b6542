-- Why a job is parked, and when it is tried again.
select waits -> 'parked' as parked, run_at as "nextTryAt"
  from stint.job
 where id = :id::uuid
   and state::text = 'waiting'
   and waits ? 'parked'
   and pg_column_size(waits) < 65536
