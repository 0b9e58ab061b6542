-- End the ready jobs that a limit with a policy does not let wait, and ask running jobs to stop that newer ones replace. Runs
-- under the locks of a claim (lock.sql), at most 500 jobs at a time, for the keys that the claim found closed.
--
-- drop-newest: jobs that never started and find no room are cancelled, the newest first.
-- latest-wins: the newest jobs stay, as many as the limit allows; older ready ones are cancelled, and the oldest running ones
-- are asked to stop.
--
-- Both sorts of ready jobs are read in the order of their index, and no further than one statement can end. In a longer
-- backlog "newest" is the newest of those that were read: the next statement goes on.
with rule as materialized (
  select *
    from stint.limits_of(:queue::text)
   where on_limit <> 'wait'
), used as materialized (
  select stint.used_of(:queue::text, :keys::text[]) as counts
), scope as materialized (
  select rule.name, rule.kinds, rule.on_limit, rule.by_key, lane.key,
         coalesce(own.max, stint.tier_max(rule.tiers, own.tier), rule.max) as max,
         coalesce((used.counts ->> (rule.name || case when rule.by_key then ' ' || lane.key else '' end))::integer, 0) as running
    from rule
   cross join used
   cross join lateral (
           select distinct key from unnest(:keys::text[]) as key where rule.by_key and key is not null
           union all
           select null where not rule.by_key) as lane
    left join stint.limit_key as own on rule.by_key and own.name = rule.name and own.key = lane.key and own.until > stint.now()
), waiting as materialized (
  select scope.name, scope.key as lane, scope.on_limit, scope.max, scope.running, found.id, found.attempt,
         row_number() over (partition by scope.name, scope.key order by found.created_at desc, found.id desc) as newest,
         count(*) over (partition by scope.name, scope.key) as waiting,
         first_value(found.id) over (partition by scope.name, scope.key order by found.created_at desc, found.id desc) as winner
    from scope
   cross join lateral (
           (select job.id, job.created_at, job.attempt
              from stint.job
             where job.queue = :queue::text
               and job.key = scope.key
               and job.key is not null
               and job.state = 'ready'
               and (scope.kinds is null or job.kind = any(scope.kinds))
             order by job.priority desc, job.run_at, job.id
             limit 500 + scope.max)
           union all
           (select job.id, job.created_at, job.attempt
              from stint.job
             where job.queue = :queue::text
               and job.key is not null
               and job.state = 'ready'
               and not scope.by_key
               and (scope.kinds is null or job.kind = any(scope.kinds))
             order by job.key, job.priority desc, job.run_at, job.id
             limit 500 + scope.max)
           union all
           (select job.id, job.created_at, job.attempt
              from stint.job
             where job.queue = :queue::text
               and job.key is null
               and job.state = 'ready'
               and not scope.by_key
               and (scope.kinds is null or job.kind = any(scope.kinds))
             order by job.priority desc, job.run_at, job.id
             limit 500 + scope.max)) as found
), over_limit as materialized (
  select distinct on (id) id,
         on_limit,
         case on_limit when 'drop-newest' then format('limit %s was reached', name)
                       else format('limit %s: job %s took its place', name, winner) end as reason
    from waiting
   where on_limit = 'drop-newest' and attempt = 0 and newest <= waiting - greatest(max - running, 0)
      or on_limit = 'latest-wins' and newest > max
   order by id
   limit 500
), gone as (
  delete from stint.job
   where id = any(array(select id from over_limit))
     and state = 'ready'
  returning *
), counted as (
  insert into stint.stat_settle (minute, queue, kind, cancelled)
  select date_trunc('minute', stint.now()), queue, kind, count(*)
    from gone
   group by queue, kind
),
-- include: jobs/cancelled-members
, kept as (
  insert into stint.finished (
    node, member,
    -- include: jobs/finished-columns
  )
  select node, member, (select reason from over_limit where over_limit.id = gone.id),
         -- include: jobs/cancelled
    from gone
  returning id, kind, key, reason, (select on_limit from over_limit where over_limit.id = finished.id) as policy
), replaced as materialized (
  -- As many of the running jobs as newer ones wait for.
  select running.id, running.winner, running.name
    from (select job.id, waits.winner, waits.name,
                 row_number() over (partition by waits.name, waits.lane order by job.started_at, job.id) as oldest,
                 least(waits.max, waits.waiting) + waits.running - waits.max as surplus
            from (select distinct name, lane, max, running, waiting, winner from waiting where on_limit = 'latest-wins') as waits
            join scope on scope.name = waits.name and scope.key is not distinct from waits.lane
           cross join lateral stint.running_of(:queue::text) as r
            join stint.job on job.id = r.id
           where (waits.lane is null or r.key = waits.lane)
             and (scope.kinds is null or r.kind = any(scope.kinds))) as running
   where running.oldest <= running.surplus
), asked as (
  update stint.job
     set cancel_at     = stint.now(),
         cancel_reason = format('limit %s: job %s took its place', replaced.name, replaced.winner)
    from replaced
   where job.id = replaced.id
     and job.state = 'running'
     and job.cancel_at is null
  returning job.id, job.kind, job.key, job.cancel_reason as reason, job.worker_id
)
select id, kind, key, reason, policy, null::uuid as worker from kept
union all
select id, kind, key, reason, 'latest-wins', worker_id from asked
