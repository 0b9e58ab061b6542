-- Lock an operation until the end of this transaction, if this job is to execute it: a pause or an abort then waits for the
-- current batch, and no batch follows.
update stint.operation
   set started_at = coalesce(started_at, stint.now())
 where id = :id::uuid
   and job_id = :jobId::uuid
   and state in ('pending', 'canary', 'ramping')
returning id, action, state, filter, as_of, settings, job_id, noted, cursor, matched, acted, skipped, failed, skipped_by,
          canary_at, canary_result, fates, acted_at, note, reason, actor, role, origin, created_at, started_at, finished_at,
          stint.now() as now
