-- Limits and rates as they are stored; a name of key rules without a rule has a row without a type. `version` changes with
-- every change of the row. Reads only what the role of viewers may read.
select named.name, rule.type, rule."byKey", rule.amount, rule.tiers, rule."onLimit", rule."periodMs", rule.burst, rule.keep,
       rule.source, rule."updatedAt", rule."overrideTo", rule."overrideUntil", left(rule."overrideBy", 512) as "overrideBy",
       left(rule."overrideReason", 2000) as "overrideReason", rule."isOverridden", coalesce(rule.version, '') as version,
       coalesce(cover.covers, '[]') as covers,
       (select count(*)::integer from (select from stint.limit_key where name = named.name limit 1000) as few) as "keyRules",
       not exists (
         select from stint.worker
          where worker.lost_at is null
            and worker.about -> 'limits' ? named.name) as "isOrphan",
       floor(extract(epoch from stint.now()) * 1000)::float8 as "nowMs"
  from unnest(:names::text[]) as named (name)
  left join lateral (
         select 'concurrency' as type, by_key as "byKey", max::float8 as amount,
                case when octet_length(tiers::text) <= 65536 then tiers end as tiers, on_limit as "onLimit",
                null::float8 as "periodMs", null::float8 as burst, null::float8 as keep, source, updated_at as "updatedAt",
                override_max::float8 as "overrideTo", override_until as "overrideUntil", override_by as "overrideBy",
                override_reason as "overrideReason", coalesce(override_until > stint.now(), false) as "isOverridden",
                hashtextextended(concurrency_limit::text, 0)::text as version
           from stint.concurrency_limit
          where concurrency_limit.name = named.name
         union all
         select 'rate', by_key, tokens, null, null, period_ms, burst, keep, source, updated_at,
                override_tokens, override_until, override_by, override_reason, coalesce(override_until > stint.now(), false),
                hashtextextended(rate::text, 0)::text
           from stint.rate
          where rate.name = named.name) as rule on true
  left join lateral (
         select jsonb_agg(jsonb_build_object('queue', few.queue, 'kinds', few.kinds) order by few.queue) as covers
           from (select limit_cover.queue, limit_cover.kinds
                   from stint.limit_cover
                  where limit_cover.type = rule.type
                    and limit_cover.name = named.name
                  order by limit_cover.queue
                  limit 200) as few) as cover on true
 order by named.name, rule.type
