-- The state of jobs that an operation skipped, to tell the reason.
select id, state, replaced_by is not null as "isReplaced", discarded_at is not null as "isDiscarded"
  from stint.jobs
 where id = any(:ids::uuid[])
