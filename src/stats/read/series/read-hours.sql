-- The counts from :from to :to, by step, queue and kind, for steps of whole hours: hours as far as minutes were rolled
-- up, and the minutes that were not. See read-stats.sql.
with picked as materialized (
  select date_bin(:stepMs::float8 * interval '1 millisecond', hour, :from::timestamptz) as at, queue, kind, enqueued,
         started, succeeded, failed, dead, lease_expired, refused, cancelled, snoozed, released, crashed, attempts, wait, run
    from stint.stat_hour
   where hour >= :from::timestamptz
     and hour < :to::timestamptz
     and queue = coalesce(:queue::text, queue)
     and kind = coalesce(:kind::text, kind)
  union all
  select date_bin(:stepMs::float8 * interval '1 millisecond', minute, :from::timestamptz), queue, kind, enqueued,
         started, succeeded, failed, dead, lease_expired, refused, cancelled, snoozed, released, crashed, attempts, wait, run
    from stint.stat_minute
   where process <> '00000000-0000-0000-0000-000000000000'
     and minute >= :from::timestamptz
     and minute < :to::timestamptz
     and queue = coalesce(:queue::text, queue)
     and kind = coalesce(:kind::text, kind)
), -- include: stats/summed
