-- The histograms of the minutes since :from, one in :every of them, always the same ones. The caller merges them, which
-- is many times cheaper than here. The upper bound is as in last-hour.sql.
select date_part('epoch', minute) * 1000 as "minuteMs", queue, wait::text, run::text
  from stint.stat_minute
 where minute >= :from::timestamptz
   and minute < stint.now() + interval '1 day'
   and (:every::integer = 1
        or mod(hashint8(date_part('epoch', minute)::bigint)::bigint + uuid_hash(process) + hashtext(kind) + hashtext(queue),
               :every::integer) = 0)
