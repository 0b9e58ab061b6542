-- The histograms of the minutes since :from, one in :every of them, always the same ones. Merged by whoever asks, which is
-- many times cheaper than here.
select minute, queue, wait, run
  from stint.stat_minute
 where minute >= :from::timestamptz
   and (:every::integer = 1
        or mod(hashtext(minute::text || process::text || kind || queue)::bigint + 2147483648, :every::integer) = 0)
