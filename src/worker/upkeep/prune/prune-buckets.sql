-- Remove buckets that are full by now and were not used for an hour, and those of rates that are gone. A taker that finds no row
-- has a full bucket. What a bucket has counted goes to its rate. A bucket in use is left to the next pass.
with gone as (
  delete from stint.rate_bucket
   where ctid = any(array(
           select bucket.ctid
             from (select bucket.ctid, bucket.name, bucket.key, bucket.seq
                     from stint.rate_bucket as bucket
                     left join stint.rate on rate.name = bucket.name
                    where rate.name is null
                       or bucket.at < stint.now() - interval '1 hour'
                      and bucket.tokens + extract(epoch from stint.now() - bucket.at) * 1000
                            * stint.tokens_per_ms(rate.tokens, rate.period_ms, rate.override_tokens, rate.override_until)
                          >= rate.burst
                    order by bucket.name, bucket.key, bucket.seq
                   offset :skip::integer
                    limit :limit::integer
                      for update of bucket skip locked) as bucket
            where pg_try_advisory_xact_lock(stint.bucket_lock(bucket.name, bucket.key))))
  returning name, taken, refused
), counted as (
  update stint.rate
     set taken   = least(1e300, rate.taken + total.taken),
         refused = least(1e300, rate.refused + total.refused)
    from (select name, sum(taken) as taken, sum(refused) as refused from gone group by name) as total
   where total.name = rate.name
)
select count(*)::integer as removed from gone
