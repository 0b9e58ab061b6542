-- How jobs are that an operation did not act on, for the reason why.
select id, state, replaced_by is not null as "isReplaced", discarded_at is not null as "isDiscarded"
  from stint.jobs
 where id = any(:ids::uuid[])
