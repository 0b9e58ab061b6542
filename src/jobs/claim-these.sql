-- Take those of these jobs that are ready: they run under a new lease and epoch. For where claim.sql or claim-keyed.sql
-- failed because of one row; see those.
update stint.job
   set state      = 'running',
       worker_id  = :worker::uuid,
       lease_id   = :lease::uuid,
       attempt    = attempt + 1,
       epoch      = epoch + 1,
       started_at = stint.now(),
       unique_key = case when unique_until_start then null else unique_key end
 where id = any(array(
         select id
           from stint.job
          where id = any(:ids::uuid[])
            and queue = :queue::text
            and state = 'ready'
            and version <= (:kinds::jsonb ->> kind)::smallint
            for update skip locked))
returning id, kind, input, attempt, max_attempts as "maxAttempts", epoch, version, priority, key,
          jsonb_build_object(
            'correlationId', correlation_id, 'traceparent', traceparent, 'tracestate', tracestate,
            'parentId', parent_id, 'flowId', flow_id, 'inputBlob', input_blob,
            'isExpired', deadline_at < stint.now(), 'timeoutMs', options -> 'timeoutMs',
            'failures', failures, 'attemptsBefore', attempts_before, 'progress', progress,
            'crashes', crashes, 'suspect', suspect, 'crashLimit', options -> 'crashLimit',
            'fireAt', options -> 'fireAt', 'isCancelled', cancel_at is not null, 'cancelReason', cancel_reason) as more,
          (run_at at time zone 'utc')::text as "runAt"
