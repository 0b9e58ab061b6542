-- What the limits and rates of a job's queue, and its ordered key, say about a live job of a limited queue. They come from the
-- functions that claims use.
with mine as materialized (
  select job.id, job.queue::text as queue, job.kind::text as kind, job.key,
         job.key is not null and (job.options ? 'ordered') is true as is_ordered
    from stint.job
   where job.id = :id::uuid
), must_count as materialized (
  -- Whether the next claim counts all running jobs of the queue anew: stint.rebase().
  select not exists (select from stint.running_base as base where base.queue = mine.queue)
         or exists (select
                      from stint.limit_cover as cover
                     where cover.queue = mine.queue
                       and cover.type = 'concurrency'
                       and cover.since > clock_timestamp() - interval '15 s') as is_new
    from mine
), limits as materialized (
  select rule.name, rule.by_key, rule.kinds, coalesce(own.max, stint.tier_max(rule.tiers, own.tier), rule.max) as max, rule.on_limit
    from mine
   cross join lateral stint.limits_of(mine.queue) as rule
    left join stint.limit_key as own
      on rule.by_key and own.name = rule.name and own.key = mine.key and own.until > stint.now()
   where (not rule.by_key or mine.key is not null)
     and (rule.kinds is null or mine.kind = any(rule.kinds))
), used as materialized (
  select case when not must_count.is_new then stint.used_of(mine.queue, array[mine.key])
              else (select jsonb_object_agg(counted.name, counted.jobs)
                      from (select limits.name || case when limits.by_key then ' ' || running.key else '' end as name, count(*) as jobs
                              from limits
                              join stint.limit_cover as cover on cover.type = 'concurrency' and cover.name = limits.name
                             cross join lateral (
                                     select job.key, job.kind::text as kind
                                       from stint.job
                                      where job.state = 'running'
                                        and job.queue = mine.queue
                                        and cover.queue = mine.queue
                                     union all
                                     select r.key, r.kind
                                       from stint.running_of(cover.queue) as r
                                      where cover.queue <> mine.queue) as running
                             where cover.kinds is null or running.kind = any(cover.kinds)
                             group by 1) as counted
                     where counted.name is not null) end as counts
    from mine
   cross join must_count
   where exists (select from limits)
)
select (select jsonb_agg(jsonb_build_object('name', bucket.name, 'key', nullif(bucket.key, ''), 'have', bucket.have, 'perMs', bucket.per_ms,
                                            'burst', rate.burst, 'keep', rate.keep, 'blockedUntil', bucket.blocked_until)
                         order by bucket.name)
          from stint.buckets_of(mine.queue, array[mine.key]) as bucket
          join stint.rate on rate.name = bucket.name
         where (bucket.kinds is null or mine.kind = any(bucket.kinds))) as buckets,
       (select jsonb_agg(jsonb_build_object('name', limits.name, 'byKey', limits.by_key, 'max', limits.max, 'onLimit', limits.on_limit,
                                            'used', coalesce((used.counts ->> (limits.name || case when limits.by_key then ' ' || mine.key else '' end))::integer, 0))
                         order by limits.name)
          from limits
         cross join used) as limits,
       (select jsonb_build_object('id', head.id, 'queue', head.queue, 'kind', head.kind, 'key', head.key, 'state', head.state,
                                  'worker', head.worker_id, 'dueAt', head.run_at, 'since', head.started_at)
          from (select job.id, job.queue, job.kind, job.key, job.state, job.worker_id, job.run_at, job.started_at
                  from stint.job
                 where mine.is_ordered
                   and job.queue = mine.queue
                   and job.key = mine.key
                   and job.options ? 'ordered'
                 order by job.created_at, job.id
                 limit 1) as head
         where head.id <> mine.id) as head
  from mine
