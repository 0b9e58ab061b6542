-- The columns of a cancelled job in history, in the order in which the statements that write one give them.
reason, id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
created_at, run_at, started_at, finished_at, deadline_at, worker_id, lease_id,
correlation_id, traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
attempts_before, replaces
