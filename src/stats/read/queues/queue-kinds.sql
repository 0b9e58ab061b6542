-- The counts of each kind of a queue over the last :minutes minutes, of all processes together, and the number of rows; and
-- how many of its jobs left for good within :rateMs, and over how long that was counted, as in read-rates.sql.
-- The upper bound is as in last-hour.sql.
select kind, sum(succeeded)::float8 as succeeded, sum(failed)::float8 as failed, sum(dead)::float8 as dead,
       coalesce(sum(succeeded + dead + cancelled)
                filter (where minute >= stint.now() - :rateMs::float8 * interval '1 millisecond'), 0)::float8 as "wentOut",
       (extract(epoch from stint.now() - min(minute)
                filter (where minute >= stint.now() - :rateMs::float8 * interval '1 millisecond')) * 1000)::float8 as "overMs",
       count(*)::integer as rows
  from stint.stat_minute
 where minute >= stint.now() - :minutes::integer * interval '1 minute'
   and minute < stint.now() + interval '1 day'
   and queue = :queue::text
 group by kind
