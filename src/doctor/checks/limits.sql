-- Limits and rates that need a person: stored rows that are broken, and rules that no live worker has in its code although
-- workers are alive. Reads only what the role of viewers may read.
with rule as (
  select name, 'limit' as type, override_max is not null as has_value, override_until,
         exists (select
                   from jsonb_each(case when jsonb_typeof(tiers) = 'object' then tiers else '{}' end) as tier (name, max)
                  where jsonb_typeof(tier.max) <> 'number') as has_bad_tier
    from stint.concurrency_limit
  union all
  select name, 'rate', override_tokens is not null, override_until, false
    from stint.rate
)
(select rule.name, rule.type, 'broken' as problem
   from rule
  where rule.has_bad_tier
     or rule.has_value <> (rule.override_until is not null)
  order by rule.name
  limit 100)
union all
(select keyed.name, 'limit', 'missing'
   from (select distinct few.name from (select name from stint.limit_key limit 10000) as few) as keyed
  where not exists (select from stint.concurrency_limit where concurrency_limit.name = keyed.name)
  order by keyed.name
  limit 100)
union all
(select rule.name, rule.type, 'unused'
   from rule
  where exists (select from stint.worker where lost_at is null and lease_until >= stint.now())
    and not exists (
          select from stint.worker
           where worker.lost_at is null
             and worker.about -> 'limits' ? rule.name)
  order by rule.name
  limit 100)
union all
(select rule.name, rule.type, 'idle'
   from rule
  where rule.type = 'limit'
    and exists (
          select from stint.worker
           where worker.lost_at is null
             and worker.about -> 'limits' ? rule.name)
    and not exists (
          select from stint.limit_cover as cover
           where cover.type = 'concurrency'
             and cover.name = rule.name
             and (exists (select from stint.queue_gauge where queue_gauge.queue = cover.queue)
                  or exists (
                       select from stint.worker
                        where worker.lost_at is null
                          and worker.about -> 'queues' ? cover.queue)))
  order by rule.name
  limit 100)
