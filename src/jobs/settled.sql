-- Which of these jobs were settled under these leases? Asked after a settle whose reply was lost.
--
-- A row that the sweep wrote about a lost lease is no settle: the worker that asks may be the lost one.
-- The bounds on time limit the search to one or two partitions; without the upper one, partitions made ahead would be
-- searched as well.
-- Job by job, not `id = any(…)`: for a thousand ids the planner expected most of a partition that was never analyzed, and
-- read all of it.
select asked.id
  from unnest(:ids::uuid[]) as asked (id)
 cross join lateral (
         select
           from stint.finished
          where finished.id = asked.id
            and finished.lease_id = any(:leaseIds::uuid[])
            and finished.finished_at >= stint.now() - :sinceMs::float8 * interval '1 millisecond' - interval '1 hour'
            and finished.finished_at <  stint.now() + interval '1 hour'
         union all
         select
           from stint.dead
          where dead.id = asked.id
            and dead.lease_id = any(:leaseIds::uuid[])
            and dead.reason <> 'quarantined'
         union all
         select
           from stint.attempt
          where attempt.job_id = asked.id
            and attempt.lease_id = any(:leaseIds::uuid[])
            and attempt.ended_at >= stint.now() - :sinceMs::float8 * interval '1 millisecond' - interval '1 hour'
            and attempt.ended_at <  stint.now() + interval '1 hour'
            and attempt.outcome not in ('refused', 'lease-lost')
          limit 1) as settlement
