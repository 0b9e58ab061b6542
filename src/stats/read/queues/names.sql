-- The queues that have jobs, up to :limit in each state. A loose scan: each step asks an index for the next name, so the
-- cost grows with the queues and not with the jobs. Another statement counts running jobs; see running.sql.
--
-- Through the view, like all counts here, because a viewer may read it. `order by` with `limit 1` leaves the
-- planner nothing to choose but the index.
with recursive ready as (
  (select queue, 1 as step
     from stint.jobs
    where place = 'live' and state = 'ready' and key is null
    order by queue
    limit 1)
  union all
  select (select jobs.queue
            from stint.jobs
           where place = 'live' and state = 'ready' and key is null and jobs.queue > ready.queue
           order by jobs.queue
           limit 1), step + 1
    from ready
   where queue is not null and step < :limit::integer
), keyed as (
  (select queue, 1 as step
     from stint.jobs
    where place = 'live' and state = 'ready' and key is not null
    order by queue
    limit 1)
  union all
  select (select jobs.queue
            from stint.jobs
           where place = 'live' and state = 'ready' and key is not null and jobs.queue > keyed.queue
           order by jobs.queue
           limit 1), step + 1
    from keyed
   where queue is not null and step < :limit::integer
), due as (
  (select queue, 1 as step
     from stint.jobs
    where place = 'live' and state in ('scheduled', 'retrying')
    order by queue
    limit 1)
  union all
  select (select jobs.queue
            from stint.jobs
           where place = 'live' and state in ('scheduled', 'retrying') and jobs.queue > due.queue
           order by jobs.queue
           limit 1), step + 1
    from due
   where queue is not null and step < :limit::integer
), waiting as (
  (select queue, 1 as step
     from stint.jobs
    where place = 'live' and state = 'waiting'
    order by queue
    limit 1)
  union all
  select (select jobs.queue
            from stint.jobs
           where place = 'live' and state = 'waiting' and jobs.queue > waiting.queue
           order by jobs.queue
           limit 1), step + 1
    from waiting
   where queue is not null and step < :limit::integer
), dead as (
  (select queue, 1 as step
     from stint.jobs
    where place = 'dead'
    order by queue
    limit 1)
  union all
  select (select jobs.queue
            from stint.jobs
           where place = 'dead' and jobs.queue > dead.queue
           order by jobs.queue
           limit 1), step + 1
    from dead
   where queue is not null and step < :limit::integer
)
select queue from ready where queue is not null
union
select queue from keyed where queue is not null
union
select queue from due where queue is not null
union
select queue from waiting where queue is not null
union
select queue from dead where queue is not null
