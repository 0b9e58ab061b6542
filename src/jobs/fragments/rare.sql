-- Values that few jobs have and that a worker needs to run them.
jsonb_build_object(
  'correlationId', correlation_id, 'traceparent', traceparent, 'tracestate', tracestate,
  'parentId', parent_id, 'flowId', flow_id, 'inputBlob', input_blob,
  'isExpired', deadline_at < stint.now(), 'timeoutMs', options -> 'timeoutMs',
  'failures', failures, 'attemptsBefore', attempts_before, 'progress', progress,
  'crashes', crashes, 'suspect', suspect, 'crashLimit', options -> 'crashLimit',
  'fireAt', options -> 'fireAt', 'isCancelled', cancel_at is not null, 'cancelReason', cancel_reason)
