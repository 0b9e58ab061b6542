-- The state of some jobs, in any table; a job that does not exist (any more) has no row.
--
-- The revision is the row's xmin, which differs after every write. It alone shows a change that was reverted before the
-- next read: without it, a page that was read in between would stay wrong.
-- One table after the other: most jobs are live and found by one lookup. History is searched only for the others, without
-- the days that are made ahead. Texts far longer than any that Stint stores are cut.
select asked.id, found.*
  from unnest(:ids::uuid[]) as asked (id)
 cross join lateral (
         (select state::text, left(queue, 201) as queue, left(kind, 201) as kind, left(key, 2001) as key, epoch, attempt, priority,
                 run_at as "runAt", started_at as "startedAt",
                 null::timestamptz as "finishedAt", worker_id as "workerId", cancel_at as "cancelRequestedAt",
                 case when jsonb_typeof(progress -> 'percent') = 'number' then progress -> 'percent' end as progress,
                 null::timestamptz as "discardedAt", null::uuid as "replacedBy",
                 xmin::text as revision
            from stint.job
           where job.id = asked.id)
         union all
         (select 'dead', left(queue, 201), left(kind, 201), left(key, 2001), epoch, attempt, priority, run_at, started_at, died_at, worker_id, null,
                 case when jsonb_typeof(progress -> 'percent') = 'number' then progress -> 'percent' end, discarded_at, replaced_by, xmin::text
            from stint.dead
           where dead.id = asked.id)
         union all
         (select state::text, left(queue, 201), left(kind, 201), left(key, 2001), epoch, attempt, priority, run_at, started_at, finished_at, worker_id, null,
                 null, null, null, xmin::text
            from stint.finished
           where finished.id = asked.id
             and finished.finished_at < stint.now() + interval '1 hour')
         limit 1) as found
