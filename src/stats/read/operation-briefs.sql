-- The state of some operations. Texts are cut: a stream must not carry megabytes that another program wrote. The revision is
-- the row's xmin, which differs after every write.
select id, left(action, 200) as action, state, noted, matched, acted, skipped, failed, skipped_by as "skippedBy", fates,
       left(note, 2000) as note,
       started_at as "startedAt", finished_at as "finishedAt",
       xmin::text as revision
  from stint.operation
 where id = any(:ids::uuid[])
