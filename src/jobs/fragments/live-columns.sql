-- The same columns of a live job.
job.id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
created_at, run_at, started_at, null::timestamptz as finished_at, deadline_at, worker_id,
correlation_id, traceparent, tracestate, parent_id, flow_id, search, null::text as reason,
attempts_before, replaces, null::uuid as replaced_by, null::timestamptz as discarded_at, suspect, cancel_at
