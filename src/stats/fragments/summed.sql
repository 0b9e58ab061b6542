-- The picked rows summed by time, queue and kind, with their histograms merged.
waits as (
  select at, queue, kind, jsonb_object_agg(bin, jobs) as bins
    from (select at, queue, kind, one.bin, sum(one.jobs::bigint) as jobs
            from picked
           cross join lateral jsonb_each_text(wait) as one (bin, jobs)
           group by at, queue, kind, one.bin) as merged
   group by at, queue, kind
), runs as (
  select at, queue, kind, jsonb_object_agg(bin, jobs) as bins
    from (select at, queue, kind, one.bin, sum(one.jobs::bigint) as jobs
            from picked
           cross join lateral jsonb_each_text(run) as one (bin, jobs)
           group by at, queue, kind, one.bin) as merged
   group by at, queue, kind
), counts as (
  select at, queue, kind,
         sum(enqueued)::float8 as enqueued, sum(started)::float8 as started, sum(succeeded)::float8 as succeeded,
         sum(failed)::float8 as failed, sum(dead)::float8 as dead, sum(lease_expired)::float8 as "leaseExpired",
         sum(refused)::float8 as refused, sum(cancelled)::float8 as cancelled, sum(snoozed)::float8 as snoozed,
         sum(released)::float8 as released, sum(crashed)::float8 as crashed, sum(attempts)::float8 as attempts
    from picked
   group by at, queue, kind
)
select counts.*, coalesce(waits.bins, '{}') as wait, coalesce(runs.bins, '{}') as run
  from counts
  left join waits using (at, queue, kind)
  left join runs using (at, queue, kind)
 order by queue, kind, at
