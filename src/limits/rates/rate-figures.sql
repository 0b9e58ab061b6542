-- Each rate: its tokens now, where it has one bucket, and its totals. A rate by key has as many rows as keys in use.
select rate.name, array(select cover.queue::text from stint.limit_cover as cover where cover.type = 'rate' and cover.name = rate.name) as queues,
       case when not rate.by_key
            then least(rate.burst, coalesce(last.tokens + greatest(extract(epoch from stint.now() - last.at), 0) * 1000
                                              * stint.tokens_per_ms(rate.tokens, rate.period_ms, rate.override_tokens, rate.override_until),
                                            rate.burst)) end as tokens,
       rate.taken + coalesce(total.taken, 0) as taken, rate.refused + coalesce(total.refused, 0) as refused
  from stint.rate
  left join lateral (
         select bucket.tokens, bucket.at
           from stint.rate_bucket as bucket
          where bucket.name = rate.name
            and bucket.key = ''
          order by bucket.seq desc
          limit 1) as last on true
  left join (select name, sum(taken) as taken, sum(refused) as refused from stint.rate_bucket group by name) as total
    on total.name = rate.name
 order by rate.name
 limit 1000
