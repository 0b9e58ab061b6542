-- Send a signal to a job (0017_waiting.sql), on any driver's transaction.
-- Each column is one plain word: a caller's library may rename any other.
select outcome, signal_id as id, queue, priority, job_key as key
  from stint.signal(:job::text::uuid, :name::text, :payload::text::jsonb, :key::text, :by::text, :id::text::uuid)
