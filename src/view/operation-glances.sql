-- How some operations are.
select id, action, state, noted, matched, acted, skipped, failed, skipped_by as "skippedBy", note,
       started_at as "startedAt", finished_at as "finishedAt"
  from stint.operation
 where id = any(:ids::uuid[])
