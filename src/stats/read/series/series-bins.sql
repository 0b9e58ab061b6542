-- The histograms from :from to :to, each with the step it belongs to. The caller merges them, which is
-- many times cheaper than here. If there are very many, one in :every is taken, always the same ones.
select date_bin(:stepMs::float8 * interval '1 millisecond', minute, :from::timestamptz) as at, wait::text, run::text
  from stint.stat_minute
 where minute >= :from::timestamptz
   and minute < :to::timestamptz
   and queue = coalesce(:queue::text, queue)
   and kind = coalesce(:kind::text, kind)
   and (:every::integer = 1
        or mod(hashint8(date_part('epoch', minute)::bigint)::bigint + uuid_hash(process) + hashtext(kind) + hashtext(queue),
               :every::integer) = 0)
