-- How some operations are. The revision is the row's xmin: another one after every write.
select id, action, state, noted, matched, acted, skipped, failed, skipped_by as "skippedBy", note,
       started_at as "startedAt", finished_at as "finishedAt",
       xmin::text as revision
  from stint.operation
 where id = any(:ids::uuid[])
