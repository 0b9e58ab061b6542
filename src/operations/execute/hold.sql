-- Hold an operation to the end of this transaction, where it is to be executed, by this job: whoever pauses or aborts it
-- waits for the batch that is under way, and no batch follows.
update stint.operation
   set started_at = coalesce(started_at, stint.now())
 where id = :id::uuid
   and job_id = :jobId::uuid
   and state in ('pending', 'canary', 'ramping')
returning id, action, state, filter, as_of, settings, job_id, noted, cursor, matched, acted, skipped, failed, skipped_by,
          canary_at, canary_result, fates, acted_at, note, reason, actor, role, origin, created_at, started_at, finished_at,
          stint.now() as now
