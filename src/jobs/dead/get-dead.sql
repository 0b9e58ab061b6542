-- One dead letter, with the values that an edited copy takes over.
select id, 'dead' as state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, died_at as finished_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, reason,
       attempts_before, replaces, replaced_by, discarded_at, false as suspect, null as cancel_at, progress,
       input, input_blob, null as result, error, fingerprint,
       options, unique_key, unique_until_start
  from stint.dead
 where id = :id::uuid
