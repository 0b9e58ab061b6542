-- The histograms of what queue-kinds.sql counts, one in :every of them, always the same ones. The caller merges them,
-- which is many times cheaper than here.
select kind, wait::text, run::text
  from stint.stat_minute
 where minute >= stint.now() - :minutes::integer * interval '1 minute'
   and minute < stint.now() + interval '1 day'
   and queue = :queue::text
   and (:every::integer = 1
        or mod(hashint8(date_part('epoch', minute)::bigint)::bigint + uuid_hash(process) + hashtext(kind) + hashtext(queue),
               :every::integer) = 0)
