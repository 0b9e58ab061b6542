-- What decides whether a live job can be claimed now: the facts behind the predicates of predicates.ts, in one snapshot. No row:
-- the job is not live.
--
-- The limits, rates and rules come from the functions that claims use. What a plain claim says itself (state, version, order) is
-- held by test/limits/why-property.test.ts.
--
-- Nothing here is counted without a bound: a probe stops after :most entries of an index, and each has the order of the one index
-- that it must read. Times are sent as they are: they may be infinite, which a server before 17 cannot subtract.
with recursive mine as materialized (
  select job.id, job.state::text as state, job.queue::text as queue, job.kind::text as kind, job.key, job.priority,
         job.run_at::timestamptz as run_at, job.created_at, job.version, job.attempt, job.max_attempts, job.epoch, job.started_at,
         job.worker_id, coalesce((job.options ->> 'cost')::integer, 1) as cost,
         job.key is not null and (job.options ? 'ordered') is true as is_ordered,
         coalesce(queue.is_limited, false) as is_limited
    from stint.job
    left join stint.queue on queue.name = job.queue
   where job.id = :id::uuid
), serving as materialized (
  -- The live workers of its queue.
  select worker.id, worker.about -> 'queues' -> mine.queue as slots, worker.about -> 'batches' -> mine.queue as batch,
         worker.about -> 'versions' -> mine.kind as version, worker.about -> 'kinds' ? mine.kind as handles,
         worker.about -> 'failing' as failing
    from mine
    join stint.worker
      on worker.lost_at is null
     and worker.lease_until >= stint.now()
     and worker.about -> 'queues' ? mine.queue
   order by worker.started_at, worker.id
   limit 500
), running as materialized (
  -- The jobs that these workers hold, of all queues: the bound is on what is read.
  select one.id, one.queue, one.kind, one.key, one.started_at, one.worker_id
    from mine
   cross join serving
   cross join lateral (
           select job.id, job.queue::text as queue, job.kind::text as kind, job.key, job.started_at, job.worker_id
             from stint.job
            where job.state = 'running'
              and job.worker_id = serving.id) as one
   where mine.state in ('ready', 'scheduled', 'retrying')
   limit :mostHeld::integer
), held as materialized (
  select running.worker_id, count(*) as jobs
    from running
   where running.queue = (select mine.queue from mine)
   group by running.worker_id
), must_count as materialized (
  -- Whether the next claim counts all running jobs of the queue anew: stint.rebase().
  select mine.is_limited
         and (not exists (select from stint.running_base as base where base.queue = mine.queue)
              or exists (select
                           from stint.limit_cover as cover
                          where cover.queue = mine.queue
                            and cover.type = 'concurrency'
                            and cover.since > clock_timestamp() - interval '15 s')) as is_new
    from mine
), limits as materialized (
  select rule.name, rule.by_key, rule.kinds, coalesce(own.max, stint.tier_max(rule.tiers, own.tier), rule.max) as max, rule.on_limit
    from mine
   cross join lateral stint.limits_of(mine.queue) as rule
    left join stint.limit_key as own
      on rule.by_key and own.name = rule.name and own.key = mine.key and own.until > stint.now()
   where mine.is_limited
     and (not rule.by_key or mine.key is not null)
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
), other_keys as (
  -- A loose scan: the other keys of the queue that have ready jobs.
  (select job.key, 1 as seen
     from mine
    cross join lateral (
            select job.key
              from stint.job
             where job.queue = mine.queue
               and job.key is not null
               and job.state = 'ready'
             order by job.key
             limit 1) as job
    where mine.state = 'ready'
      and mine.key is not null)
  union all
  select (select job.key
            from stint.job
           where job.queue = mine.queue
             and job.key is not null
             and job.state = 'ready'
             and job.key > other_keys.key
           order by job.key
           limit 1),
         other_keys.seen + 1
    from other_keys
   cross join mine
   where other_keys.key is not null
     and other_keys.seen <= :mostKeys::integer
)
select stint.now() as "asOf", mine.id, mine.state, mine.queue, mine.kind, mine.key, mine.run_at as "runAt", mine.version, mine.attempt,
       mine.max_attempts as "maxAttempts", mine.epoch, mine.cost, mine.worker_id as "workerId",
       mine.started_at as "startedAt", (select worker.lease_until from stint.worker where worker.id = mine.worker_id) as "leaseUntil",
       -- paused
       (select jsonb_build_object('by', queue.paused_by, 'reason', queue.pause_reason, 'until', queue.paused_until)
          from stint.queue
         where queue.name = mine.queue
           and queue.paused_until > stint.now()) as "queuePause",
       (select jsonb_agg(jsonb_build_object('kind', nullif(pause.kind, ''), 'by', pause.paused_by, 'reason', pause.reason,
                                            'until', pause.paused_until) order by pause.kind desc)
          from stint.pause
         where pause.queue = mine.queue
           and (pause.kind = mine.kind and pause.key = '' or pause.key = mine.key and pause.kind = '')
           and pause.paused_until > stint.now()) as pauses,
       -- workers
       (select jsonb_agg(jsonb_build_object('id', serving.id, 'slots', serving.slots, 'batch', serving.batch, 'handles', serving.handles,
                                            'version', serving.version, 'failing', serving.failing,
                                            'held', coalesce(held.jobs, 0)))
          from serving
          left join held on held.worker_id = serving.id) as workers,
       (select count(*)::integer from running) as running,
       (select gauge.running::float8
          from stint.queue_gauge as gauge
         cross join stint.gauge_refresh as refresh
         where gauge.queue = mine.queue
           and refresh.refreshed_at > stint.now() - interval '10 s') as "gaugedRunning",
       (select jsonb_agg(jsonb_build_object('id', oldest.id, 'queue', mine.queue, 'kind', oldest.kind, 'key', oldest.key, 'state', 'running',
                                            'worker', oldest.worker_id, 'since', oldest.started_at))
          from (select * from running where running.queue = mine.queue order by running.started_at nulls last, running.id limit 3) as oldest) as "slotHolders",
       (select jsonb_build_object('id', gone.id, 'at', least(gone.lost_at, gone.lease_until))
          from (select worker.id, worker.lost_at, worker.lease_until
                  from stint.worker
                 where worker.about -> 'queues' ? mine.queue
                   and (worker.lost_at is not null or worker.lease_until < stint.now())
                   and not exists (select from serving)
                 order by worker.renewed_at desc
                 limit 1) as gone) as "lastWorker",
       -- flow control
       (select jsonb_agg(jsonb_build_object('name', breaker.name, 'state', breaker.state, 'since', breaker.since,
                                            'cause', breaker.cause,
                                            'probeAt', coalesce(breaker.probe_at, breaker.probe_until),
                                            'forcedBy', case when breaker.forced_until > stint.now() then breaker.forced_by end,
                                            'forcedReason', breaker.forced_reason, 'forcedUntil', breaker.forced_until)
                         order by breaker.name)
          from stint.limit_cover as cover
          join stint.breaker on breaker.name = cover.name
         where cover.queue = mine.queue
           and cover.type = 'breaker'
           and mine.kind = any(cover.kinds)
           and breaker.state <> 'closed') as breakers,
       (select jsonb_agg(jsonb_build_object('name', bucket.name, 'key', nullif(bucket.key, ''), 'have', bucket.have, 'perMs', bucket.per_ms,
                                            'burst', rate.burst, 'keep', rate.keep, 'blockedUntil', bucket.blocked_until)
                         order by bucket.name)
          from stint.buckets_of(mine.queue, array[mine.key]) as bucket
          join stint.rate on rate.name = bucket.name
         where mine.is_limited
           and (bucket.kinds is null or mine.kind = any(bucket.kinds))) as buckets,
       (select jsonb_agg(jsonb_build_object('name', limits.name, 'byKey', limits.by_key, 'max', limits.max, 'onLimit', limits.on_limit,
                                            'used', coalesce((used.counts ->> (limits.name || case when limits.by_key then ' ' || mine.key else '' end))::integer, 0))
                         order by limits.name)
          from limits
         cross join used) as limits,
       (select jsonb_build_object('id', head.id, 'queue', head.queue, 'kind', head.kind, 'key', head.key, 'state', head.state,
                                  'worker', head.worker_id, 'dueAt', head.run_at, 'since', head.started_at)
          from (select job.id, job.queue, job.kind, job.key, job.state, job.worker_id, job.run_at, job.started_at
                  from stint.job
                 where mine.is_limited
                   and mine.is_ordered
                   and job.queue = mine.queue
                   and job.key = mine.key
                   and job.options ? 'ordered'
                 order by job.created_at, job.id
                 limit 1) as head
         where head.id <> mine.id) as head,
       -- turn
       case when mine.state <> 'ready' then 0 when mine.key is null
            then (select count(*)
                    from (select
                            from stint.job
                           where job.queue = mine.queue and job.key is null and job.state = 'ready' and job.priority > mine.priority
                           order by job.priority desc, job.run_at, job.id
                           limit :most::integer) as higher)
            else (select count(*)
                    from (select
                            from stint.job
                           where job.queue = mine.queue and job.key = mine.key and job.key is not null and job.state = 'ready'
                             and job.priority > mine.priority
                           order by job.priority desc, job.run_at, job.id
                           limit :most::integer) as higher)
       end::integer as higher,
       case when mine.state <> 'ready' then 0 when mine.key is null
            then (select count(*)
                    from (select
                            from stint.job
                           where job.queue = mine.queue and job.key is null and job.state = 'ready' and job.priority = mine.priority
                             and (job.run_at, job.id) < (mine.run_at, mine.id)
                           order by job.run_at, job.id
                           limit :most::integer) as earlier)
            else (select count(*)
                    from (select
                            from stint.job
                           where job.queue = mine.queue and job.key = mine.key and job.key is not null and job.state = 'ready'
                             and job.priority = mine.priority and (job.run_at, job.id) < (mine.run_at, mine.id)
                           order by job.run_at, job.id
                           limit :most::integer) as earlier)
       end::integer as earlier,
       (select count(*)::integer from other_keys where other_keys.key <> mine.key) as "otherKeys",
       -- Started in the last five minutes, and how long they ran.
       (select jsonb_build_object('started', coalesce(sum(minutes.started), 0), 'runs', jsonb_agg(minutes.run))
          from unnest(array[0, 1, 2, 3, 4]) as ago
         cross join lateral (
                 select stat.started, case when stat.kind = mine.kind then stat.run else '{}' end as run
                   from stint.stat_minute as stat
                  where stat.minute = date_trunc('minute', stint.now()) - ago * interval '1 minute'
                    and stat.queue = mine.queue
                  limit 200) as minutes) as pace,
       has_any_column_privilege('stint.job', 'update') and not pg_is_in_recovery()
         and current_setting('transaction_read_only') = 'off' as "mayLock"
  from mine
