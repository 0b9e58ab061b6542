-- The columns that a job of every table has, without its input and result.
id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
created_at, run_at, started_at, finished_at, deadline_at, worker_id,
correlation_id, traceparent, tracestate, parent_id, flow_id, search, reason,
attempts_before, replaces, replaced_by, discarded_at, suspect, cancel_at
