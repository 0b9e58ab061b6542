-- Note what a person did, or tried to do. The id is the caller's: a note that is sent again is one note.
insert into stint.audit (
  id, actor, role, origin, action, target, outcome, reason, before, after, operation_id, request_id
)
values (
  :id::uuid, :actor::text, :role::text, :origin::text, :action::text, :target::text, :outcome::text, :reason::text,
  :before::jsonb, :after::jsonb, :operationId::uuid, :requestId::text
)
on conflict do nothing
