-- How many jobs came to each queue and left it within :windowMs, and over how long that was counted. The upper bound is
-- needed because with one bound the planner, until it has statistics, reads all of the table.
select queue,
       sum(enqueued)::float8 as "cameIn",
       sum(succeeded + dead + cancelled)::float8 as "wentOut",
       (extract(epoch from stint.now() - min(minute)) * 1000)::float8 as "overMs"
  from stint.stat_minute
 where minute >= stint.now() - :windowMs::float8 * interval '1 millisecond'
   and minute < stint.now() + interval '1 day'
 group by queue
