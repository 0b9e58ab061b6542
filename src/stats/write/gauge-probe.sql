-- What queues have, looked at through the indexes that are there for claims, each group up to a cap: ready jobs without a
-- key by queue and priority, those with keys by queue, scheduled and retrying ones, waiting ones, running ones. A group
-- that reaches its cap has more; gauge-sample.sql says about how many.
--
-- Loose scans find the groups: each step asks an index for the next one, which costs one lookup for each group and not
-- for each job. The caps divide a fixed number of rows, so that many groups cost no more than a few; half as many rows
-- for groups that are scattered over the table in the order of their index. Of groups that are known to be large
-- (:large) only a few rows are read: counting them up to a cap that they reach anyway was most of the cost. `order by` in
-- the order of an index with a `limit` leaves the planner nothing to choose. Each group is counted by itself: together
-- they would be sorted by all their names.
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
), levels as materialized (
  select queue, priority, run_at, 'level ' || priority || ' ' || queue = any(:large::text[]) as is_large
    from level
), keyeds as materialized (
  select queue, 'keyed ' || queue = any(:large::text[]) as is_large
    from keyed
   where queue is not null
), dues as materialized (
  select queue, 'due ' || queue = any(:large::text[]) as is_large
    from due
   where queue is not null
), waitings as materialized (
  select queue, 'waiting ' || queue = any(:large::text[]) as is_large
    from waiting
   where queue is not null
), cap as materialized (
  select greatest(100, (:rows::integer / greatest(1, (select count(*) from levels where not is_large))))::integer as level,
         greatest(100, (:rows::integer / 2 / greatest(1, (select count(*) from keyeds where not is_large))))::integer as keyed,
         greatest(100, (:rows::integer / 2 / greatest(1, (select count(*) from dues where not is_large))))::integer as due,
         greatest(100, (:rows::integer / 2 / greatest(1, (select count(*) from waitings where not is_large))))::integer as waiting
), with_key as materialized (
  select keyeds.queue, of_queue.most, seen.kind, seen.priority, seen.key, seen.run_at
    from keyeds
   cross join lateral (select case when is_large then :briefly::integer else (select cap.keyed from cap) end as most) as of_queue
   cross join lateral (
           select job.kind, job.priority, job.key, job.run_at
             from stint.job
            where state = 'ready' and key is not null and job.queue = keyeds.queue
            order by job.key, job.priority desc, job.run_at, job.id
            limit of_queue.most) as seen
)
select found.*, (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::float8 as took
  from (
         select 'level' as source, levels.queue, 'ready' as state, seen.kind, levels.priority, null as key, seen.jobs,
                (extract(epoch from levels.run_at) * 1000)::float8 as oldest, of_level.most as cap
           from levels
          cross join lateral (select case when is_large then :briefly::integer else (select cap.level from cap) end as most) as of_level
          cross join lateral (
                  select kind, count(*)::integer as jobs
                    from (select job.kind
                            from stint.job
                           where state = 'ready' and key is null and job.queue = levels.queue
                             and job.priority = levels.priority
                           order by job.run_at, job.id
                           limit of_level.most) as first
                   group by kind) as seen
         union all
         select 'keyed', queue, 'ready', kind, priority, null, count(*)::integer,
                (extract(epoch from min(run_at)) * 1000)::float8, most
           from with_key
          group by queue, most, kind, priority
         union all
         select 'key', queue, 'ready', null, null, key, jobs, null, most
           from (select queue, most, key, count(*)::integer as jobs,
                        row_number() over (partition by queue order by count(*) desc, key) as place
                   from with_key
                  group by queue, most, key) as ranked
          where place <= :topKeys::integer
         union all
         select 'due', dues.queue, seen.state::text, seen.kind, null, null, seen.jobs, null, of_queue.most
           from dues
          cross join lateral (select case when is_large then :briefly::integer else (select cap.due from cap) end as most) as of_queue
          cross join lateral (
                  select state, kind, count(*)::integer as jobs
                    from (select job.state, job.kind
                            from stint.job
                           where state in ('scheduled', 'retrying') and job.queue = dues.queue
                           order by job.run_at
                           limit of_queue.most) as first
                   group by state, kind) as seen
         union all
         select 'waiting', waitings.queue, 'waiting', seen.kind, null, null, seen.jobs, null, of_queue.most
           from waitings
          cross join lateral (select case when is_large then :briefly::integer else (select cap.waiting from cap) end as most) as of_queue
          cross join lateral (
                  select kind, count(*)::integer as jobs
                    from (select job.kind
                            from stint.job
                           where state = 'waiting' and job.queue = waitings.queue
                           order by job.run_at
                           limit of_queue.most) as first
                   group by kind) as seen
         union all
         select 'running', queue, 'running', kind, null, null, count(*)::integer, null, :rows::integer / 2
           from (select queue, kind
                   from stint.job
                  where state = 'running'
                  order by worker_id
                  limit :rows::integer / 2) as seen
          group by queue, kind
       ) as found
