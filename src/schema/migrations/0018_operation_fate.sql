-- What became of the jobs that a replay brought back: an operation is not done well because it acted on all of them.
--
-- Lock: access exclusive on operation and operation_job for a moment; columns are added without rewriting them. An index is
-- built under it, which holds nothing yet, while operation_job is read once.
-- breaking: no
alter table stint.operation_job
  add column fate text,                                               -- of a job that was replayed; null: not followed
  add constraint operation_job_fate check (fate in ('live', 'succeeded', 'same-error', 'other-error', 'cancelled'));
create index operation_job_live on stint.operation_job (operation_id, id) where fate = 'live';

alter table stint.operation
  add column fates    jsonb,                                          -- fate to jobs; null where they are not followed
  add column acted_at timestamptz;                                    -- when it last acted on a job
