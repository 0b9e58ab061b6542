-- A job as its worker gets it, but for the key. `more` has the values that few jobs have; it is null for the others, so that
-- reading those costs nothing.
id, kind, input, attempt, max_attempts as "maxAttempts", epoch, version, priority,
case when num_nonnulls(correlation_id, traceparent, tracestate, parent_id, flow_id, deadline_at, input_blob,
                       options, failures, attempts_before, progress, nullif(crashes, 0),
                       nullif(suspect, false), cancel_at) > 0
     then jsonb_build_object(
       'correlationId', correlation_id, 'traceparent', traceparent, 'tracestate', tracestate,
       'parentId', parent_id, 'flowId', flow_id, 'inputBlob', input_blob,
       'isExpired', deadline_at < stint.now(), 'timeoutMs', options -> 'timeoutMs',
       'failures', failures, 'attemptsBefore', attempts_before, 'progress', progress,
       'crashes', crashes, 'suspect', suspect, 'crashLimit', options -> 'crashLimit',
       'fireAt', options -> 'fireAt', 'hasReferences', options -> 'references', 'isCancelled', cancel_at is not null, 'cancelReason', cancel_reason)
end as more,
(run_at at time zone 'utc')::text as "runAt"
