-- Fires that a person asked for and that a worker makes: of a schedule whose input code makes, run or backfilled from a
-- process that does not have the code. Such a fire is `asked` and has the id of its job before there is the job.
--
-- Lock: access exclusive on fire, while its rows are read three times and none is rewritten.
-- breaking: no
alter table stint.fire
  drop constraint fire_outcome,
  drop constraint fire_has_job,
  add constraint fire_outcome check (outcome in ('fired', 'skipped', 'missed', 'queued', 'asked')),
  add constraint fire_has_job check ((outcome in ('fired', 'asked')) = (job_id is not null));

-- The fires of a schedule that wait for a worker, in the order in which they were asked for.
create index fire_asked on stint.fire (schedule, job_id) where outcome = 'asked';
