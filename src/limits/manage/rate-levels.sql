-- The buckets of rates as they are now: one bucket of each rate, or those of :keys and of the first 100 keys of a rate by key.
-- `nextMs`: when a job that costs one token may start.
select rate.name, nullif(bucket.key, '') as key, level.tokens, rate.burst,
       greatest(greatest(0, least(2e9, 1 + rate.keep - level.tokens)) / speed.per_ms, blocked.ms) as "nextMs",
       case when blocked.ms > 0 then last.blocked_until end as "blockedUntil"
  from stint.rate
 cross join lateral (
         select stint.tokens_per_ms(rate.tokens, rate.period_ms, rate.override_tokens, rate.override_until) as per_ms) as speed
 cross join lateral (
         select '' as key where not rate.by_key
         union
         select waiting.key from unnest(:keys::text[]) as waiting (key) where rate.by_key
         union
         (select stored.key
            from stint.rate_bucket as stored
           where stored.name = rate.name
             and rate.by_key
           order by stored.key
           limit 100)) as bucket
  left join lateral (
         select stored.tokens, stored.at, stored.blocked_until
           from stint.rate_bucket as stored
          where stored.name = rate.name
            and stored.key = bucket.key
          order by stored.seq desc
          limit 1) as last on true
 cross join lateral (
         select least(rate.burst,
                      coalesce(last.tokens + greatest(extract(epoch from stint.now() - last.at), 0) * 1000 * speed.per_ms,
                               rate.burst))::float8 as tokens) as level
 cross join lateral (
         select case when last.blocked_until > stint.now()
                     then extract(epoch from least(last.blocked_until, stint.now() + interval '10 years') - stint.now()) * 1000
                     else 0 end::float8 as ms) as blocked
 where rate.name = any(:names::text[])
