-- Operations, newest first. Texts that are longer than Stint stores them are cut.
select id, left(action, 200) as action, state, left(filter, 2001) as filter, as_of, settings, job_id, noted, cursor, matched, acted, skipped, failed, skipped_by,
       canary_at, canary_result, fates, acted_at, left(note, 2000) as note, left(reason, 2001) as reason, actor, role, origin, created_at, started_at, finished_at,
       stint.now() as now
  from stint.operation
 where id <= :upTo::uuid
   and (:states::text[] is null or state = any(:states::text[]))
 order by id desc
 limit :limit::integer
