-- Store an operation, to be executed by a Stint job. The same intent is stored once.
insert into stint.operation (
  id, intent_id, action, filter, as_of, settings, job_id, cursor, reason, actor, role, origin
)
values (
  :id::uuid, :intentId::uuid, :action::text, :filter::text, :frozenAt::timestamptz, :settings::jsonb, :jobId::uuid,
  :cursor::uuid, :reason::text, :actor::text, :role::text, :origin::text
)
on conflict do nothing
returning id
