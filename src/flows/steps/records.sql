-- The records of some jobs, in the order in which their results were recorded.
--
-- Job by job, so that the planner reads the primary key for each. Whether a wait is over is decided here, by the clock of
-- the database.
select asked.id as job, found.*
  from unnest(:ids::uuid[]) as asked (id)
 cross join lateral (
         select step.name, step.n, step.seq, step.type, step.state, step.tries, step.beside, step.result,
                step.result is not null as "hasResult",
                step.result_blob as blob, step.error,
                coalesce(step.until <= stint.now(), false) as "isOver",
                extract(epoch from least(step.until, stint.now() + interval '10 years') - stint.now())::float8 * 1000 as "untilMs",
                extract(epoch from step.started_at)::float8 * 1000 as "startedAt",
                extract(epoch from step.ended_at)::float8 * 1000 as "endedAt"
           from stint.step
          where step.job_id = asked.id
          order by step.seq
          limit :limit::integer) as found
