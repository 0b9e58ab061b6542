-- Store one job that sets only queue, kind, key, priority and input: the usual case inside a user's transaction, where
-- nothing is prepared. Planning enqueue.sql for it takes longer than all the rest.
-- All parameters are text, so that every driver and ORM sends them in the same way.
insert into stint.job (id, queue, kind, key, priority, max_attempts, version, input)
values (
  :id::text::uuid, :queue::text, :kind::text, :key::text, :priority::text::smallint,
  :maxAttempts::text::integer, :version::text::smallint, :input::text::jsonb)
