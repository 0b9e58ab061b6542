-- The histograms of what happened from :from to :to, by step, of all processes, queues and kinds together: bin to jobs.
--
-- Merging them costs the most by far, so of very many rows one in :every is taken, always the same ones.
select date_bin(:stepMs::float8 * interval '1 millisecond', minute, :from::timestamptz) as at,
       one.is_wait as "isWait", one.bin::integer as bin, sum(one.jobs::bigint)::float8 as jobs
  from stint.stat_minute
 cross join lateral (
         select true as is_wait, key as bin, value as jobs from jsonb_each_text(wait)
          union all
         select false, key, value from jsonb_each_text(run)) as one
 where minute >= :from::timestamptz
   and minute < :to::timestamptz
   and queue = coalesce(:queue::text, queue)
   and kind = coalesce(:kind::text, kind)
   and (:every::integer = 1
        or mod(hashtext(minute::text || process::text || kind || queue)::bigint + 2147483648, :every::integer) = 0)
 group by 1, 2, 3
