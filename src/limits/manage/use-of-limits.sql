-- How full concurrency limits are: a row for each limit, and for each of the 100 keys that are nearest to the maximum of a
-- limit by key. A row without a key counts all running jobs of its limit. :keys are keys that may have none running.
-- The running jobs are read once for all limits, :most at most.
with cover as materialized (
  select rule.name, rule.by_key, rule.tiers, cover.queue, cover.kinds,
         case when rule.override_until > stint.now() then coalesce(rule.override_max, rule.max) else rule.max end as max
    from stint.concurrency_limit as rule
    join stint.limit_cover as cover on cover.type = 'concurrency' and cover.name = rule.name
   where rule.name = any(:names::text[])
), running as materialized (
  select job.queue, job.kind, job.key
    from stint.jobs as job
   where job.place = 'live'
     and job.state = 'running'
     and job.queue = any(array(select distinct queue from cover))
   limit :most::integer
), counted as materialized (
  select cover.name, cover.by_key, running.key
    from cover
    join running on running.queue = cover.queue and (cover.kinds is null or running.kind = any(cover.kinds))
   where not cover.by_key
      or running.key is not null
), by_key as materialized (
  select each_key.name, each_key.key, sum(each_key.used)::integer as used
    from (select counted.name, counted.key, 1 as used
            from counted
           where counted.by_key
          union all
          select distinct cover.name, waiting.key, 0
            from cover
           cross join unnest(:keys::text[]) as waiting (key)
           where cover.by_key) as each_key
   group by each_key.name, each_key.key
), ranked as (
  select by_key.name, by_key.key, by_key.used, most.max,
         row_number() over (partition by by_key.name order by most.max - by_key.used, by_key.used desc, by_key.key) as place,
         count(*) filter (where by_key.used >= most.max) over (partition by by_key.name) as "atLimit"
    from by_key
    join (select distinct on (name) name, max, tiers from cover) as rule on rule.name = by_key.name
    left join stint.limit_key as own on own.name = by_key.name and own.key = by_key.key and own.until > stint.now()
   cross join lateral (
           select coalesce(own.max, stint.tier_max(rule.tiers, own.tier), rule.max) as max) as most
)
select name, null as key, count(*)::integer as used, null::integer as max, 0 as "atLimit"
  from counted
 group by name
union all
select name, key, used, max, "atLimit"::integer
  from ranked
 where place <= 100
