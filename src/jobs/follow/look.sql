-- The state of some jobs for callers who wait for their ends; a job that does not exist (any more) has no row.
--
-- One table after the other: most jobs are live and found by one lookup. History is searched only for the others, without
-- the days that are made ahead. Only rows of ended jobs have a result or an error, so the polls before the end stay small.
select asked.id, found.*
  from unnest(:ids::uuid[]) as asked (id)
 cross join lateral (
         (select state::text, left(kind, 201) as kind, attempt, epoch, run_at as "runAt", null::text as reason, progress,
                 null::jsonb as result, null::jsonb as error, null::jsonb as steps
            from stint.job
           where job.id = asked.id)
         union all
         (select 'dead', left(kind, 201), attempt, epoch, run_at, left(reason, 2001), progress, null, error, null
            from stint.dead
           where dead.id = asked.id)
         union all
         (select state::text, left(kind, 201), attempt, epoch, run_at, left(reason, 2001), null, result, null, steps
            from stint.finished
           where finished.id = asked.id
             and finished.finished_at < stint.now() + interval '1 hour')
         limit 1) as found
