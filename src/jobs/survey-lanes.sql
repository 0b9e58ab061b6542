-- One page of the lanes of a queue, after a key: each key and priority that has ready jobs, with the first job of it that
-- this worker could claim; no id where all its jobs are for others.
--
-- The lanes come from a loose scan of job_ready_keyed, one or two probes a lane, however many jobs each has. The scan meets the
-- first job of each lane anyway: only where that one is for others, a further probe looks for one that this worker can claim.
-- It takes nothing and locks nothing. Jobs that start in order are placed by created_at (0012_claim_limited.sql). Times are
-- bounded before they are subtracted: a run_at may be infinite.
with recursive lane as (
  (select job.key, job.priority, job.run_at, job.id, job.created_at, job.options, job.kind, job.version, 1 as step
     from stint.job
    where job.queue = :queue::text
      and job.state = 'ready'
      and job.key is not null
      and job.key > :afterKey::text
    order by job.key, job.priority desc, job.run_at, job.id
    limit 1)
  union all
  select next.key, next.priority, next.run_at, next.id, next.created_at, next.options, next.kind, next.version, lane.step + 1
    from lane
   cross join lateral (
           (select job.key, job.priority, job.run_at, job.id, job.created_at, job.options, job.kind, job.version
              from stint.job
             where job.queue = :queue::text
               and job.state = 'ready'
               and job.key is not null
               and job.key = lane.key
               and job.priority < lane.priority
             order by job.priority desc, job.run_at, job.id
             limit 1)
           union all
           (select job.key, job.priority, job.run_at, job.id, job.created_at, job.options, job.kind, job.version
              from stint.job
             where job.queue = :queue::text
               and job.state = 'ready'
               and job.key is not null
               and job.key > lane.key
             order by job.key, job.priority desc, job.run_at, job.id
             limit 1)
           limit 1) as next
   where lane.step < :lanes::integer
)
select lane.key, lane.priority, head.id,
       (case when (head.options ? 'ordered') is true then head.created_at else head.run_at end at time zone 'utc')::text as "runAt",
       extract(epoch from stint.now() - greatest(least(head.run_at, stint.now()), stint.now() - interval '100 years'))::float8
         * 1000 as "ageMs"
  from lane
  left join lateral (
         select lane.run_at, lane.id, lane.created_at, lane.options
          where lane.version <= (:kinds::jsonb ->> lane.kind)::smallint
         union all
         (select job.run_at, job.id, job.created_at, job.options
            from stint.job
           where -- include: jobs/in-lane
             and job.version <= (:kinds::jsonb ->> job.kind)::smallint
             and (lane.version <= (:kinds::jsonb ->> lane.kind)::smallint) is not true
           order by job.run_at, job.id
           limit 1)) as head on true
 order by lane.step
