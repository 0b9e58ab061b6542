-- Which of these jobs were settled under these leases? Asked after a settle whose reply was lost.
--
-- What the sweep writes about a lease that was lost is no settle: the worker that asks may be the lost one.
-- The bound on time prunes history to a partition or two.
select id
  from stint.finished
 where id = any(:ids::uuid[])
   and lease_id = any(:leaseIds::uuid[])
   and finished_at >= stint.now() - :sinceMs::float8 * interval '1 millisecond' - interval '1 hour'
union
select id
  from stint.dead
 where id = any(:ids::uuid[])
   and lease_id = any(:leaseIds::uuid[])
   and reason <> 'quarantined'
union
select job_id
  from stint.attempt
 where job_id = any(:ids::uuid[])
   and lease_id = any(:leaseIds::uuid[])
   and ended_at >= stint.now() - :sinceMs::float8 * interval '1 millisecond' - interval '1 hour'
   and outcome not in ('refused', 'lease-lost')
