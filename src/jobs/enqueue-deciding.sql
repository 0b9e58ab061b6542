-- Store jobs that need a decision first: unique ones, idempotency keys, inputs in a blob store, and any job whose
-- earlier enqueue may have been stored although its reply was lost (`again`).
-- Each column is one plain word: a caller's library may rename any other (postgres.js in camel case does).
select ordinal, job_id as id, outcome
  from stint.enqueue_jobs(:jobs::text::jsonb, :again::boolean)
