-- Store one job that says nothing of itself but queue, kind, key, priority and input: the usual case inside a user's
-- transaction, where nothing is prepared. Planning enqueue.sql for it takes longer than all the rest.
-- All parameters are text, so that no driver or ORM has an opinion on how to send them.
insert into stint.job (id, queue, kind, key, priority, max_attempts, version, input)
values (
  :id::text::uuid, :queue::text, :kind::text, :key::text, :priority::text::smallint,
  :maxAttempts::text::integer, :version::text::smallint, :input::text::jsonb)
