-- The counts by queue and kind of the minutes from :from on: those before :until, which are over and written, and those
-- since; and the database's time, so that there is always a row. The upper bound is as in last-hour.sql.
select clock.now, counted.*
  from (select stint.now() as now) as clock
  left join (
         select queue, kind, minute < :until::timestamptz as "isOver",
                sum(enqueued)::float8 as enqueued, sum(started)::float8 as started, sum(succeeded)::float8 as succeeded,
                sum(failed)::float8 as failed, sum(dead)::float8 as dead, sum(cancelled)::float8 as cancelled,
                sum(snoozed)::float8 as snoozed, sum(released)::float8 as released, sum(crashed)::float8 as crashed,
                sum(lease_expired)::float8 as "leaseExpired", sum(refused)::float8 as refused,
                sum(moved)::float8 as moved
           from stint.stat_minute
          where minute >= :from::timestamptz
            and minute < stint.now() + interval '1 day'
          group by queue, kind, minute < :until::timestamptz) as counted
    on true
