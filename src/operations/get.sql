-- One operation.
select id, action, state, filter, as_of, settings, job_id, noted, cursor, matched, acted, skipped, failed, skipped_by,
       canary_at, canary_result, fates, acted_at, note, reason, actor, role, origin, created_at, started_at, finished_at,
       stint.now() as now
  from stint.operation
 where id = :id::uuid
