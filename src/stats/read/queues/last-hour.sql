-- The counts of the last hour, or since :from if that is later, by minute and queue, of all processes and kinds together,
-- and the number of rows; and the database's time, so that there is always a row.
--
-- Minutes have an upper bound too, later than any clock: with one bound the planner, until it has statistics, expects a
-- third of the table and reads all of it.
--
-- Times are milliseconds: thousands of dates are expensive to parse.
select clock."nowMs", counted.*
  from (select date_part('epoch', stint.now()) * 1000 as "nowMs") as clock
  left join (
         select date_part('epoch', minute) * 1000 as "minuteMs", queue, sum(succeeded)::float8 as succeeded, sum(failed)::float8 as failed, sum(dead)::float8 as dead,
                sum(cancelled)::float8 as cancelled, count(*)::integer as rows
           from stint.stat_minute
          where minute >= greatest(:from::timestamptz, date_trunc('minute', stint.now()) - interval '59 minutes')
            and minute < stint.now() + interval '1 day'
          group by minute, queue) as counted
    on true
