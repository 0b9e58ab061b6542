-- Store the limits, rates, breakers and queues of a worker's code. A newer start wins over an older one; what people have
-- overridden stays. A row that is already so is not written.
with limits as (
  insert into stint.concurrency_limit as stored (name, by_key, max, tiers, on_limit)
  select d.name, d."byKey", d.max, d.tiers, d."onLimit"
    from jsonb_to_recordset(:limits::jsonb) as d (name text, "byKey" boolean, max integer, tiers jsonb, "onLimit" text)
  on conflict on constraint concurrency_limit_pkey do update
     set by_key     = excluded.by_key,
         max        = excluded.max,
         tiers      = excluded.tiers,
         on_limit   = excluded.on_limit,
         source     = 'code',
         updated_at = stint.now()
   where (stored.by_key, stored.max, stored.tiers, stored.on_limit, stored.source)
         is distinct from (excluded.by_key, excluded.max, excluded.tiers, excluded.on_limit, excluded.source)
  returning name, xmax <> 0 as changed
), rates as (
  insert into stint.rate as stored (name, by_key, tokens, period_ms, burst, keep)
  select d.name, d."byKey", d.tokens, d."periodMs", d.burst, d.keep
    from jsonb_to_recordset(:rates::jsonb)
           as d (name text, "byKey" boolean, tokens float8, "periodMs" float8, burst float8, keep float8)
  on conflict on constraint rate_pkey do update
     set by_key     = excluded.by_key,
         tokens     = excluded.tokens,
         period_ms  = excluded.period_ms,
         burst      = excluded.burst,
         keep       = excluded.keep,
         source     = 'code',
         updated_at = stint.now()
   where (stored.by_key, stored.tokens, stored.period_ms, stored.burst, stored.keep, stored.source)
         is distinct from (excluded.by_key, excluded.tokens, excluded.period_ms, excluded.burst, excluded.keep, excluded.source)
  returning name, xmax <> 0 as changed
), breakers as (
  insert into stint.breaker as stored (name, window_ms, share, least, open_ms, most_open_ms, probes, counts)
  select d.name, d."windowMs", d.share, d.least, d."openMs", d."mostOpenMs", d.probes, d.counts
    from jsonb_to_recordset(:breakers::jsonb)
           as d (name text, "windowMs" float8, share float8, least integer, "openMs" float8, "mostOpenMs" float8,
                 probes integer, counts text[])
  on conflict on constraint breaker_pkey do update
     set window_ms    = excluded.window_ms,
         share        = excluded.share,
         least        = excluded.least,
         open_ms      = excluded.open_ms,
         most_open_ms = excluded.most_open_ms,
         probes       = excluded.probes,
         counts       = excluded.counts,
         source       = 'code',
         updated_at   = stint.now()
   where (stored.window_ms, stored.share, stored.least, stored.open_ms, stored.most_open_ms, stored.probes, stored.counts,
          stored.source)
         is distinct from
         (excluded.window_ms, excluded.share, excluded.least, excluded.open_ms, excluded.most_open_ms, excluded.probes,
          excluded.counts, excluded.source)
  returning name, xmax <> 0 as changed
), queues as (
  insert into stint.queue as stored (name, pressure, retry_budget)
  select d.name, d.pressure, d."retryBudget"
    from jsonb_to_recordset(:queues::jsonb) as d (name text, pressure jsonb, "retryBudget" jsonb)
  on conflict on constraint queue_pkey do update
     set pressure     = excluded.pressure,
         retry_budget = excluded.retry_budget,
         updated_at   = stint.now()
   where (stored.pressure, stored.retry_budget) is distinct from (excluded.pressure, excluded.retry_budget)
  returning name, xmax <> 0 as changed
)
select 'limit' as type, name, changed from limits
union all
select 'rate', name, changed from rates
union all
select 'breaker', name, changed from breakers
union all
select 'queue', name, changed from queues
