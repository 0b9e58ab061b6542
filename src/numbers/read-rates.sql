-- How many jobs came to each queue and left it lately, and over how long that was counted.
select queue,
       sum(enqueued)::float8 as "cameIn",
       sum(succeeded + dead + cancelled)::float8 as "wentOut",
       (extract(epoch from stint.now() - min(minute)) * 1000)::float8 as "overMs"
  from stint.stat_minute
 where minute >= stint.now() - :windowMs::float8 * interval '1 millisecond'
 group by queue
