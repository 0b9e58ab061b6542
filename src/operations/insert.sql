-- Store an operation, to be executed by a Stint job.
insert into stint.operation (
  id, action, filter, as_of, settings, job_id, cursor, matched, reason, actor, role, origin
)
values (
  :id::uuid, :action::text, :filter::text, :asOf::timestamptz, :settings::jsonb, :jobId::uuid, :cursor::uuid,
  :matched::integer, :reason::text, :actor::text, :role::text, :origin::text
)
on conflict do nothing
