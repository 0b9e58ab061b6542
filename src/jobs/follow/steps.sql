-- The records of the steps of some jobs, without their results, in the order in which they were recorded.
--
-- Job by job, so that the planner reads the primary key for each.
select asked.id as job, found.*
  from unnest(:ids::uuid[]) as asked (id)
 cross join lateral (
         select name, n, type, state, tries, started_at as "startedAt", ended_at as "endedAt"
           from stint.step
          where step.job_id = asked.id
          order by seq
          limit :limit::integer) as found
