-- How many jobs some queues have in each state, counted up to :limit, and how long the oldest of the counted ready jobs
-- has waited. Another statement counts running jobs; see running.sql.
--
-- Each inner select names the order of one index, so that the planner reads that one and stops: with a count alone it
-- may well decide to read the table. job_due holds scheduled and retrying jobs together, so :limit is for both.
select q.queue,
       plain.jobs + keyed.jobs as ready,
       ((extract(epoch from stint.now()) - extract(epoch from least(plain.oldest, keyed.oldest))) * 1000)::float8 as oldest_ready_ms,
       due.scheduled, due.retrying, waiting.jobs as waiting, dead.jobs as dead, dead.seen as dead_seen,
       greatest(plain.jobs, keyed.jobs) as ready_seen, stint.now() as counted_at
  from unnest(:queues::text[]) as q (queue)
 cross join lateral (
         select count(*)::integer as jobs, min(seen.run_at) as oldest
           from (select run_at
                   from stint.jobs
                  where place = 'live' and state = 'ready' and key is null and jobs.queue = q.queue
                  order by priority desc, run_at, id
                  limit :limit::integer) as seen) as plain
 cross join lateral (
         select count(*)::integer as jobs, min(seen.run_at) as oldest
           from (select run_at
                   from stint.jobs
                  where place = 'live' and state = 'ready' and key is not null and jobs.queue = q.queue
                  order by key, priority desc, run_at, id
                  limit :limit::integer) as seen) as keyed
 cross join lateral (
         select (count(*) filter (where seen.state = 'scheduled'))::integer as scheduled,
                (count(*) filter (where seen.state = 'retrying'))::integer as retrying
           from (select state
                   from stint.jobs
                  where place = 'live' and state in ('scheduled', 'retrying') and jobs.queue = q.queue
                  order by run_at
                  limit :limit::integer) as seen) as due
 cross join lateral (
         select count(*)::integer as jobs
           from (select
                   from stint.jobs
                  where place = 'live' and state = 'waiting' and jobs.queue = q.queue
                  order by run_at
                  limit :limit::integer) as seen) as waiting
 cross join lateral (
         select (count(*) filter (where seen.discarded_at is null and seen.replaced_by is null))::integer as jobs,
                count(*)::integer as seen
           from (select discarded_at, replaced_by
                   from stint.jobs
                  where place = 'dead' and jobs.queue = q.queue
                  order by id desc
                  limit :limit::integer) as seen) as dead
 order by q.queue
