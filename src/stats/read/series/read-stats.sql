-- The counts from :from to :to, by step, queue and kind, of all processes together. Histograms are merged by adding
-- the counts of the same bin.
with picked as materialized (
  select date_bin(:stepMs::float8 * interval '1 millisecond', minute, :from::timestamptz) as at, stat_minute.*
    from stint.stat_minute
   where minute >= :from::timestamptz
     and minute < :to::timestamptz
     and queue = coalesce(:queue::text, queue)
     and kind = coalesce(:kind::text, kind)
), -- include: stats/summed
