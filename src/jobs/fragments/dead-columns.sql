-- The columns of a dead letter, in the order in which the statements that write one give them.
id, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
created_at, run_at, started_at, died_at, deadline_at, worker_id, lease_id,
correlation_id, traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
progress, failures, attempts_before, replaces, unique_key, unique_until_start, reason, error, fingerprint
