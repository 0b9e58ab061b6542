-- What happened since :from, by minute and queue, of all processes and kinds together, and how many rows that is; and the
-- database's time. There is always a row.
select clock.now, counted.*
  from (select stint.now() as now) as clock
  left join (
         select minute, queue, sum(succeeded)::float8 as succeeded, sum(failed)::float8 as failed, sum(dead)::float8 as dead,
                sum(cancelled)::float8 as cancelled, count(*)::integer as rows
           from stint.stat_minute
          where minute >= :from::timestamptz
          group by minute, queue) as counted
    on true
