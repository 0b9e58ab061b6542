-- The queues that have live jobs, by name, up to :limit, and whether a live worker serves each. A loose scan: each step
-- asks the index of each state for the next name, so it costs a few looks for every queue and not for every job. Those
-- that run have an index by worker, and are looked at up to :most.
--
-- Through the view, so that a viewer may ask.
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
