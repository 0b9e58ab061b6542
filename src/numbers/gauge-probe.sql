-- What queues have, looked at through the indexes that are there for claims, each group up to a cap: ready jobs without a
-- key by queue and priority, those with keys by queue, scheduled and retrying ones, waiting ones, running ones. A group
-- that reaches its cap has more; gauge-sample.sql says about how many.
--
-- Loose scans find the groups: each step asks an index for the next one, so that costs a look for each group and not for
-- each job. The caps share out a number of rows, so that many groups cost no more than a few; of those with keys half as
-- many, because in the order of their index they lie about in the table. `order by` in the order of an index with a `limit`
-- leaves the planner nothing to choose. Each group is counted by itself: together they would be sorted by all their names.
with recursive level as (
  (select queue, priority, run_at, 1 as step
     from stint.job
    where state = 'ready' and key is null
    order by queue, priority desc, run_at, id
    limit 1)
  union all
  select next.queue, next.priority, next.run_at, step + 1
    from level
   cross join lateral (
           (select job.queue, job.priority, job.run_at
              from stint.job
             where state = 'ready' and key is null and job.queue = level.queue and job.priority < level.priority
             order by job.priority desc, job.run_at, job.id
             limit 1)
           union all
           (select job.queue, job.priority, job.run_at
              from stint.job
             where state = 'ready' and key is null and job.queue > level.queue
             order by job.queue, job.priority desc, job.run_at, job.id
             limit 1)
           limit 1) as next
   where step < :groups::integer
), keyed as (
  (select queue, 1 as step
     from stint.job
    where state = 'ready' and key is not null
    order by queue
    limit 1)
  union all
  select (select job.queue
            from stint.job
           where state = 'ready' and key is not null and job.queue > keyed.queue
           order by job.queue
           limit 1), step + 1
    from keyed
   where queue is not null and step < :groups::integer
), due as (
  (select queue, 1 as step
     from stint.job
    where state in ('scheduled', 'retrying')
    order by queue
    limit 1)
  union all
  select (select job.queue
            from stint.job
           where state in ('scheduled', 'retrying') and job.queue > due.queue
           order by job.queue
           limit 1), step + 1
    from due
   where queue is not null and step < :groups::integer
), waiting as (
  (select queue, 1 as step
     from stint.job
    where state = 'waiting'
    order by queue
    limit 1)
  union all
  select (select job.queue
            from stint.job
           where state = 'waiting' and job.queue > waiting.queue
           order by job.queue
           limit 1), step + 1
    from waiting
   where queue is not null and step < :groups::integer
), cap as materialized (
  select greatest(100, least(:cap::integer, :rows::integer / greatest(1, (select count(*) from level))))::integer as level,
         greatest(100, least(:cap::integer, :rows::integer / 2 / greatest(1, (select count(*) from keyed))))::integer as keyed,
         greatest(100, least(:cap::integer, :rows::integer / greatest(1, (select count(*) from due))))::integer as due,
         greatest(100, least(:cap::integer, :rows::integer / greatest(1, (select count(*) from waiting))))::integer as waiting
), with_key as materialized (
  select keyed.queue, seen.kind, seen.priority, seen.key, seen.run_at
    from keyed
   cross join lateral (
           select job.kind, job.priority, job.key, job.run_at
             from stint.job
            where state = 'ready' and key is not null and job.queue = keyed.queue
            order by job.key, job.priority desc, job.run_at, job.id
            limit (select cap.keyed from cap)) as seen
   where keyed.queue is not null
)
select found.*, (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::float8 as took
  from (
         select 'level' as source, level.queue, 'ready' as state, seen.kind, level.priority, null as key, seen.jobs,
                (extract(epoch from level.run_at) * 1000)::float8 as oldest, cap.level as cap
           from level
          cross join cap
          cross join lateral (
                  select kind, count(*)::integer as jobs
                    from (select job.kind
                            from stint.job
                           where state = 'ready' and key is null and job.queue = level.queue
                             and job.priority = level.priority
                           order by job.run_at, job.id
                           limit (select cap.level from cap)) as first
                   group by kind) as seen
         union all
         select 'keyed', seen.queue, 'ready', seen.kind, seen.priority, null, seen.jobs,
                (extract(epoch from seen.oldest) * 1000)::float8, cap.keyed
           from (select queue, kind, priority, count(*)::integer as jobs, min(run_at) as oldest
                   from with_key
                  group by queue, kind, priority) as seen
          cross join cap
         union all
         select 'key', queue, 'ready', null, null, key, jobs, null, cap.keyed
           from (select queue, key, count(*)::integer as jobs,
                        row_number() over (partition by queue order by count(*) desc, key) as place
                   from with_key
                  group by queue, key) as ranked
          cross join cap
          where place <= :topKeys::integer
         union all
         select 'due', due.queue, seen.state::text, seen.kind, null, null, seen.jobs, null, cap.due
           from due
          cross join cap
          cross join lateral (
                  select state, kind, count(*)::integer as jobs
                    from (select job.state, job.kind
                            from stint.job
                           where state in ('scheduled', 'retrying') and job.queue = due.queue
                           order by job.run_at
                           limit (select cap.due from cap)) as first
                   group by state, kind) as seen
          where due.queue is not null
         union all
         select 'waiting', waiting.queue, 'waiting', seen.kind, null, null, seen.jobs, null, cap.waiting
           from waiting
          cross join cap
          cross join lateral (
                  select kind, count(*)::integer as jobs
                    from (select job.kind
                            from stint.job
                           where state = 'waiting' and job.queue = waiting.queue
                           order by job.run_at
                           limit (select cap.waiting from cap)) as first
                   group by kind) as seen
          where waiting.queue is not null
         union all
         select 'running', queue, 'running', kind, null, null, count(*)::integer, null, :cap::integer
           from (select queue, kind
                   from stint.job
                  where state = 'running'
                  order by worker_id
                  limit :cap::integer) as seen
          group by queue, kind
       ) as found
