-- What happened since :from, by minute and queue, of all processes and kinds together, with the merged histograms; and the
-- database's time. There is always a row.
with picked as materialized (
  select minute, queue, succeeded, failed, dead, cancelled, wait, run
    from stint.stat_minute
   where minute >= :from::timestamptz
), binned as (
  select minute, queue, is_wait, jsonb_object_agg(bin, jobs) as bins
    from (select minute, queue, one.is_wait, one.bin, sum(one.jobs::bigint) as jobs
            from picked
           cross join lateral (
                   select true as is_wait, key as bin, value as jobs from jsonb_each_text(wait)
                    union all
                   select false, key, value from jsonb_each_text(run)) as one
           group by minute, queue, one.is_wait, one.bin) as merged
   group by minute, queue, is_wait
), counted as (
  select minute, queue, sum(succeeded)::float8 as succeeded, sum(failed)::float8 as failed, sum(dead)::float8 as dead,
         sum(cancelled)::float8 as cancelled
    from picked
   group by minute, queue
)
select clock.now, counted.*, coalesce(waits.bins, '{}') as wait, coalesce(runs.bins, '{}') as run
  from (select stint.now() as now) as clock
  left join counted
    on true
  left join binned as waits
    on waits.minute = counted.minute
   and waits.queue = counted.queue
   and waits.is_wait
  left join binned as runs
    on runs.minute = counted.minute
   and runs.queue = counted.queue
   and not runs.is_wait
