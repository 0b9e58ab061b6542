-- The counts from :from to :to, by step, of all processes, queues and kinds together; and the number of rows.
select date_bin(:stepMs::float8 * interval '1 millisecond', minute, :from::timestamptz) as at,
       sum(enqueued)::float8 as enqueued, sum(started)::float8 as started, sum(succeeded)::float8 as succeeded,
       sum(failed)::float8 as failed, sum(dead)::float8 as dead, sum(lease_expired)::float8 as "leaseExpired",
       sum(refused)::float8 as refused, count(*)::integer as rows
  from stint.stat_minute
 where minute >= :from::timestamptz
   and minute < :to::timestamptz
   and queue = coalesce(:queue::text, queue)
   and kind = coalesce(:kind::text, kind)
 group by 1
 order by 1
