-- As series-bins.sql, for steps of whole hours: hours as far as minutes were rolled up, and the minutes that were not.
select date_bin(:stepMs::float8 * interval '1 millisecond', time, :from::timestamptz) as at, wait::text, run::text
  from (select hour as time, queue, kind, 0 as whose, wait, run
          from stint.stat_hour
         where hour >= :from::timestamptz
           and hour < :to::timestamptz
        union all
        select minute, queue, kind, uuid_hash(process), wait, run
          from stint.stat_minute
         where process <> '00000000-0000-0000-0000-000000000000'
           and minute >= :from::timestamptz
           and minute < :to::timestamptz) as measured
 where queue = coalesce(:queue::text, queue)
   and kind = coalesce(:kind::text, kind)
   and (:every::integer = 1
        or mod(hashint8(date_part('epoch', time)::bigint)::bigint + whose + hashtext(kind) + hashtext(queue),
               :every::integer) = 0)
