-- Move the counts that settling statements wrote to their minutes, where all readers look. Gives how many rows that were.
--
-- Many processes may do so at once: each takes other rows. Deleted and added in one statement, so each row counts once.
-- With :lookBackMs the scan skips the dead index entries of earlier minutes, which stay while a snapshot is held; the
-- counts of a transaction that commits later are found by the pass that reads all rows.
-- Rows of this process id are sums that any process adds to; roll-up.sql merges them like those of a process.
with taken as (
  delete from stint.stat_settle
   where ctid = any(array(
           select ctid
             from stint.stat_settle
            where minute >= stint.now() - :lookBackMs::float8 * interval '1 millisecond'
            limit 10000
              for update skip locked))
  returning *
), added as (
  insert into stint.stat_minute as known (
    minute, queue, kind, process, flush, succeeded, failed, dead, lease_expired, cancelled, snoozed, released, crashed, attempts
  )
  select minute, left(queue, 128), left(kind, 128), 'ffffffff-ffff-ffff-ffff-ffffffffffff', 0, sum(succeeded), sum(failed),
         sum(dead), sum(lease_expired), sum(cancelled), sum(snoozed), sum(released), sum(crashed), sum(attempts)
    from taken
   group by 1, 2, 3
   order by 1, 2, 3
  on conflict on constraint stat_minute_pkey do update
     set succeeded     = known.succeeded + excluded.succeeded,
         failed        = known.failed + excluded.failed,
         dead          = known.dead + excluded.dead,
         lease_expired = known.lease_expired + excluded.lease_expired,
         cancelled     = known.cancelled + excluded.cancelled,
         snoozed       = known.snoozed + excluded.snoozed,
         released      = known.released + excluded.released,
         crashed       = known.crashed + excluded.crashed,
         attempts      = known.attempts + excluded.attempts
)
select count(*)::integer as taken
  from taken
