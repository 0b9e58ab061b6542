-- Kinds of jobs that no live worker of their queue handles, among the first :window jobs of each queue and state. These
-- are enough: jobs that workers skip collect at the front.
--
-- Each inner select has the order of one index, so that the planner reads this index and stops at the limit.
select q.queue, seen.kind, count(*)::integer as jobs
  from unnest(:queues::text[]) as q (queue)
 cross join lateral (
         (select kind
            from stint.jobs
           where place = 'live' and state = 'ready' and key is null and jobs.queue = q.queue
           order by priority desc, run_at, id
           limit :window::integer)
         union all
         (select kind
            from stint.jobs
           where place = 'live' and state = 'ready' and key is not null and jobs.queue = q.queue
           order by key, priority desc, run_at, id
           limit :window::integer)
         union all
         (select kind
            from stint.jobs
           where place = 'live' and state in ('scheduled', 'retrying') and jobs.queue = q.queue
           order by run_at
           limit :window::integer)
         union all
         (select kind
            from stint.jobs
           where place = 'live' and state = 'waiting' and jobs.queue = q.queue
           order by run_at
           limit :window::integer)) as seen
 where not exists (select
                     from stint.worker
                    where lost_at is null
                      and lease_until >= stint.now()
                      and about -> 'queues' ? q.queue
                      and about -> 'kinds' ? seen.kind)
 group by q.queue, seen.kind
 order by count(*) desc, q.queue, seen.kind
