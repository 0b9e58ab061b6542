-- Operations, newest first.
select id, action, state, filter, as_of, settings, job_id, noted, cursor, matched, acted, skipped, failed, skipped_by,
       canary_at, canary_result, note, reason, actor, role, origin, created_at, started_at, finished_at, paused_in,
       stint.now() as now
  from stint.operation
 where id <= :upTo::uuid
   and (:states::text[] is null or state = any(:states::text[]))
 order by id desc
 limit :limit::integer
