-- Write an audit entry: what a person did or tried to do. The caller chooses its id, so an entry that is sent twice is stored
-- once.
-- Through a function, which sets the time and the login: an operator may not write rows of its own.
select stint.note_audit(
  :id::uuid, :actor::text, :role::text, :origin::text, :action::text, :target::text, :outcome::text, :reason::text,
  :before::jsonb, :after::jsonb, :operationId::uuid, :requestId::text
)
