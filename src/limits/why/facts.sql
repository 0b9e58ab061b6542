-- What decides whether a live job can be claimed now: the facts behind the predicates of predicates.ts. No row: the job is not
-- live. What limits, rates and an ordered key say comes from limited-facts.sql: only jobs of limited queues need it, and planning
-- it costs as much as all of this.
--
-- What a plain claim says itself (state, version, order) is held by test/limits/why-property.test.ts.
--
-- Nothing here is counted without a bound: a probe stops after :most entries of an index, and each has the order of the one index
-- that it must read. Times are sent as they are: they may be infinite, which a server before 17 cannot subtract.
with recursive mine as materialized (
  select job.id, job.state::text as state, job.queue::text as queue, job.kind::text as kind, job.key, job.priority,
         job.run_at::timestamptz as run_at, job.created_at, job.version, job.attempt, job.max_attempts, job.epoch, job.started_at,
         job.worker_id, job.flow_id, job.waits, coalesce((job.options ->> 'cost')::integer, 1) as cost,
         coalesce(queue.is_limited, false) as is_limited,
         case when queue.concurrency_until > stint.now() then queue.concurrency end as concurrency
    from stint.job
    left join stint.queue on queue.name = job.queue
   where job.id = :id::uuid
), serving as materialized (
  -- The live workers of its queue.
  select worker.id, coalesce(to_jsonb(mine.concurrency), worker.about -> 'queues' -> mine.queue) as slots,
         worker.about -> 'batches' -> mine.queue as batch, worker.about -> 'reserves' -> mine.queue as reserve, worker.wanted,
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
  select one.id, one.queue, one.kind, one.key, one.started_at, one.worker_id,
         case when jsonb_typeof(serving.reserve -> 'priority') = 'number'
              then one.priority < (serving.reserve ->> 'priority')::numeric end as is_low
    from mine
   cross join serving
   cross join lateral (
           select job.id, job.queue::text as queue, job.kind::text as kind, job.key, job.started_at, job.worker_id, job.priority
             from stint.job
            where job.state = 'running'
              and job.worker_id = serving.id) as one
   where mine.state in ('ready', 'scheduled', 'retrying')
   limit :mostHeld::integer
), held as materialized (
  select running.worker_id, count(*) as jobs, count(*) filter (where running.is_low) as low
    from running
   where running.queue = (select mine.queue from mine)
   group by running.worker_id
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
       mine.max_attempts as "maxAttempts", mine.epoch, mine.cost, mine.priority, mine.is_limited as "isLimited", mine.worker_id as "workerId",
       mine.flow_id as "flowId", case when mine.state = 'waiting' then mine.waits end as waits,
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
                                            'wanted', serving.wanted, 'reserve', serving.reserve,
                                            'held', coalesce(held.jobs, 0), 'heldLow', coalesce(held.low, 0)))
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
       -- breaker
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
