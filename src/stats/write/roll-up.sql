-- Merge some minutes that are long over: the rows of all processes become one row for each minute, queue and kind (the
-- nil process), and are added to their hours. Gives the number of rows merged, and no row where there is nothing to do.
--
-- Minutes lose nothing by it, and hours are the sum of the merged rows: so at any stage, hours and the rows of processes
-- together are all that was counted. Two of these at once take different rows, or wait and find none left.
-- A process writes a minute again only until it gets an answer: if it gets through only after the time we wait here, its
-- counts of that minute are there twice.
-- Any producer may write any number to `enqueued`: it is bounded here, so that no sum overflows its column.
with oldest as materialized (
  select date_bin(interval '10 minutes', min(minute), 'epoch') as starts_at
    from stint.stat_minute
   where process <> '00000000-0000-0000-0000-000000000000'
     and minute < stint.now() - :afterMs::float8 * interval '1 millisecond'
), taken as (
  delete from stint.stat_minute
   using oldest
   where process <> '00000000-0000-0000-0000-000000000000'
     and minute >= starts_at
     and minute < least(starts_at + interval '10 minutes', stint.now() - :afterMs::float8 * interval '1 millisecond')
  returning stat_minute.*
), waits as (
  select minute, queue, kind, jsonb_object_agg(bin, jobs) as bins
    from (select minute, queue, kind, one.bin, sum(one.jobs::bigint) as jobs
            from taken
           cross join lateral jsonb_each_text(wait) as one (bin, jobs)
           group by minute, queue, kind, one.bin) as merged
   group by minute, queue, kind
), runs as (
  select minute, queue, kind, jsonb_object_agg(bin, jobs) as bins
    from (select minute, queue, kind, one.bin, sum(one.jobs::bigint) as jobs
            from taken
           cross join lateral jsonb_each_text(run) as one (bin, jobs)
           group by minute, queue, kind, one.bin) as merged
   group by minute, queue, kind
), counts as (
  select minute, queue, kind, least(sum(enqueued), 1e15)::bigint as enqueued, sum(started)::bigint as started,
         sum(succeeded)::bigint as succeeded, sum(failed)::bigint as failed, sum(dead)::bigint as dead,
         sum(lease_expired)::bigint as lease_expired, sum(refused)::bigint as refused, sum(moved)::bigint as moved,
         sum(cancelled)::bigint as cancelled, sum(snoozed)::bigint as snoozed, sum(released)::bigint as released,
         sum(crashed)::bigint as crashed, sum(attempts)::bigint as attempts
    from taken
   group by minute, queue, kind
), minutes as (
  insert into stint.stat_minute as known (
    minute, queue, kind, process, flush, enqueued, started, succeeded, failed, dead, lease_expired, refused, moved,
    cancelled, snoozed, released, crashed, attempts, wait, run
  )
  select minute, queue, kind, '00000000-0000-0000-0000-000000000000', 0, enqueued, started, succeeded, failed, dead,
         lease_expired, refused, moved, cancelled, snoozed, released, crashed, attempts,
         coalesce(waits.bins, '{}'), coalesce(runs.bins, '{}')
    from counts
    left join waits using (minute, queue, kind)
    left join runs using (minute, queue, kind)
   order by minute, queue, kind
  on conflict on constraint stat_minute_pkey do update
     set enqueued      = least(known.enqueued::numeric + excluded.enqueued, 1e15)::bigint,
         started       = known.started + excluded.started,
         succeeded     = known.succeeded + excluded.succeeded,
         failed        = known.failed + excluded.failed,
         dead          = known.dead + excluded.dead,
         lease_expired = known.lease_expired + excluded.lease_expired,
         refused       = known.refused + excluded.refused,
         moved         = known.moved + excluded.moved,
         cancelled     = known.cancelled + excluded.cancelled,
         snoozed       = known.snoozed + excluded.snoozed,
         released      = known.released + excluded.released,
         crashed       = known.crashed + excluded.crashed,
         attempts      = known.attempts + excluded.attempts,
         wait          = stint.add_bins(known.wait, excluded.wait),
         run           = stint.add_bins(known.run, excluded.run)
), hour_waits as (
  select hour, queue, kind, jsonb_object_agg(bin, jobs) as bins
    from (select date_trunc('hour', minute) as hour, queue, kind, one.bin, sum(one.jobs::bigint) as jobs
            from waits
           cross join lateral jsonb_each_text(bins) as one (bin, jobs)
           group by 1, queue, kind, one.bin) as merged
   group by hour, queue, kind
), hour_runs as (
  select hour, queue, kind, jsonb_object_agg(bin, jobs) as bins
    from (select date_trunc('hour', minute) as hour, queue, kind, one.bin, sum(one.jobs::bigint) as jobs
            from runs
           cross join lateral jsonb_each_text(bins) as one (bin, jobs)
           group by 1, queue, kind, one.bin) as merged
   group by hour, queue, kind
), hour_counts as (
  select date_trunc('hour', minute) as hour, queue, kind, sum(enqueued) as enqueued, sum(started) as started,
         sum(succeeded) as succeeded, sum(failed) as failed, sum(dead) as dead, sum(lease_expired) as lease_expired,
         sum(refused) as refused, sum(cancelled) as cancelled, sum(snoozed) as snoozed, sum(released) as released,
         sum(crashed) as crashed, sum(attempts) as attempts
    from counts
   group by 1, queue, kind
), hours as (
  insert into stint.stat_hour as known (
    hour, queue, kind, enqueued, started, succeeded, failed, dead, lease_expired, refused, cancelled, snoozed, released,
    crashed, attempts, wait, run
  )
  select hour, queue, kind, enqueued, started, succeeded, failed, dead, lease_expired, refused, cancelled, snoozed,
         released, crashed, attempts, coalesce(hour_waits.bins, '{}'), coalesce(hour_runs.bins, '{}')
    from hour_counts
    left join hour_waits using (hour, queue, kind)
    left join hour_runs using (hour, queue, kind)
   order by hour, queue, kind
  on conflict on constraint stat_hour_pkey do update
     set enqueued      = least(known.enqueued::numeric + excluded.enqueued, 1e15)::bigint,
         started       = known.started + excluded.started,
         succeeded     = known.succeeded + excluded.succeeded,
         failed        = known.failed + excluded.failed,
         dead          = known.dead + excluded.dead,
         lease_expired = known.lease_expired + excluded.lease_expired,
         refused       = known.refused + excluded.refused,
         cancelled     = known.cancelled + excluded.cancelled,
         snoozed       = known.snoozed + excluded.snoozed,
         released      = known.released + excluded.released,
         crashed       = known.crashed + excluded.crashed,
         attempts      = known.attempts + excluded.attempts,
         wait          = stint.add_bins(known.wait, excluded.wait),
         run           = stint.add_bins(known.run, excluded.run)
)
select count(*)::integer as merged
  from taken
having count(*) > 0
