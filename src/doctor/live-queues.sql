-- The queues that have live jobs, by name, up to :limit, and whether a live worker serves each. A loose index scan: each
-- step reads the next queue name from the index of each state, so it costs a few index reads per queue and not per job.
-- The index of running jobs is ordered by worker, so at most :most running jobs are read.
--
-- Reads the view stint.jobs, which the role of viewers may read.
with recursive stepped (queue, step) as (
  select '' collate "C", 0
  union all
  select (select min(next.queue)
            from ((select j.queue
                     from stint.jobs as j
                    where place = 'live' and state = 'ready' and key is null and j.queue > stepped.queue
                    order by j.queue
                    limit 1)
                  union all
                  (select j.queue
                     from stint.jobs as j
                    where place = 'live' and state = 'ready' and key is not null and j.queue > stepped.queue
                    order by j.queue
                    limit 1)
                  union all
                  (select j.queue
                     from stint.jobs as j
                    where place = 'live' and state in ('scheduled', 'retrying') and j.queue > stepped.queue
                    order by j.queue
                    limit 1)
                  union all
                  (select j.queue
                     from stint.jobs as j
                    where place = 'live' and state = 'waiting' and j.queue > stepped.queue
                    order by j.queue
                    limit 1)) as next), step + 1
    from stepped
   where queue is not null
     and step < :limit::integer
), live as (
  select queue from stepped where queue <> ''
  union
  select queue
    from (select queue
            from stint.jobs
           where place = 'live' and state = 'running'
           order by worker_id
           limit :most::integer) as runs
)
select live.queue,
       exists (select
                 from stint.worker
                where lost_at is null
                  and lease_until >= stint.now()
                  and about -> 'queues' ? live.queue) as "isServed"
  from live
 order by live.queue
