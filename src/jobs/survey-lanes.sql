-- One page of the lanes of a queue, after a key: each key and priority that has ready jobs, with the first job of it that
-- this worker could claim; no id where all its jobs are for others.
--
-- The lanes come from a loose scan of job_ready_keyed, one or two probes a lane, however many jobs each has. It takes nothing
-- and locks nothing. Jobs that start in order are placed by created_at (0012_claim_limited.sql). Times are bounded before they are subtracted: a run_at may be infinite.
with recursive lane as (
  (select job.key, job.priority, 1 as step
     from stint.job
    where job.queue = :queue::text
      and job.state = 'ready'
      and job.key is not null
      and job.key > :afterKey::text
    order by job.key, job.priority desc
    limit 1)
  union all
  select next.key, next.priority, lane.step + 1
    from lane
   cross join lateral (
           (select job.key, job.priority
              from stint.job
             where job.queue = :queue::text
               and job.state = 'ready'
               and job.key is not null
               and job.key = lane.key
               and job.priority < lane.priority
             order by job.priority desc
             limit 1)
           union all
           (select job.key, job.priority
              from stint.job
             where job.queue = :queue::text
               and job.state = 'ready'
               and job.key is not null
               and job.key > lane.key
             order by job.key, job.priority desc
             limit 1)
           limit 1) as next
   where lane.step < :lanes::integer
)
select lane.key, lane.priority, head.id,
       (case when head.is_ordered then head.created_at else head.run_at end at time zone 'utc')::text as "runAt",
       extract(epoch from stint.now() - greatest(least(head.run_at, stint.now()), stint.now() - interval '100 years'))::float8
         * 1000 as "ageMs"
  from lane
  left join lateral (
         select job.run_at, job.id, job.created_at, (job.options ? 'ordered') is true as is_ordered
           from stint.job
          where -- include: jobs/in-lane
            and job.version <= (:kinds::jsonb ->> job.kind)::smallint
          order by job.run_at, job.id
          limit 1) as head on true
 order by lane.step
