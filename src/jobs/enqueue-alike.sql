-- Store a few jobs that differ in nothing but id and input, and say nothing but queue, kind, key and priority: what
-- callers of one kind make of a flush. An eighth faster than enqueue.sql, which has to look up the types of 19 members
-- each time it is run.
insert into stint.job (id, queue, kind, key, priority, max_attempts, version, input)
select job.id, :queue::text, :kind::text, :key::text, :priority::text::smallint,
       :maxAttempts::text::integer, :version::text::smallint, job.input
  from rows from (unnest(:ids::text::uuid[]), jsonb_array_elements(:inputs::text::jsonb)) as job (id, input)
