-- As series-counts.sql, for steps of whole hours: hours as far as minutes were rolled up, and the minutes that were not.
select date_bin(:stepMs::float8 * interval '1 millisecond', time, :from::timestamptz) as at,
       sum(enqueued)::float8 as enqueued, sum(started)::float8 as started, sum(succeeded)::float8 as succeeded,
       sum(failed)::float8 as failed, sum(dead)::float8 as dead, sum(lease_expired)::float8 as "leaseExpired",
       sum(refused)::float8 as refused, count(*)::integer as rows
  from (select hour as time, queue, kind, enqueued, started, succeeded, failed, dead, lease_expired, refused
          from stint.stat_hour
         where hour >= :from::timestamptz
           and hour < :to::timestamptz
        union all
        select minute, queue, kind, enqueued, started, succeeded, failed, dead, lease_expired, refused
          from stint.stat_minute
         where process <> '00000000-0000-0000-0000-000000000000'
           and minute >= :from::timestamptz
           and minute < :to::timestamptz) as counted
 where queue = coalesce(:queue::text, queue)
   and kind = coalesce(:kind::text, kind)
 group by 1
 order by 1
