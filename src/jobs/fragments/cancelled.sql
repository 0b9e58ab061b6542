-- A job that did not run, as history keeps it. A correlation id that is longer than any that Stint stores is cut: it may not
-- fit into the index there, and then the job could never be cancelled.
id, 'cancelled', queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
created_at, run_at, started_at, stint.now(), deadline_at, worker_id, lease_id,
left(correlation_id, 256), traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
attempts_before, replaces
