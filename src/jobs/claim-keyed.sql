-- Take ready jobs that have a key, one key after the other from a moving start, so that none waits behind a busy one.
--
-- The keys are found by a loose scan of job_ready_keyed: one probe a key, however many jobs each has. A pass that
-- comes to the last key ends there; the next one begins anew. A key has its turn only where it has something that this
-- worker can run: keys full of strange kinds would take up every turn there is.
with recursive keys as (
  (select key
     from stint.job
    where queue = :queue::text
      and state = 'ready'
      and key is not null
      and key > :afterKey::text
    order by key
    limit 1)
  union all
  select (select next.key
            from stint.job as next
           where next.queue = :queue::text
             and next.state = 'ready'
             and next.key is not null
             and next.key > keys.key
           order by next.key
           limit 1)
    from keys
   where keys.key is not null
), turns as (
  select key
    from keys
   where key is not null
     and exists (
           select
             from stint.job
            where queue = :queue::text
              and key = keys.key
              and key is not null
              and state = 'ready'
              and version <= (:kinds::jsonb ->> kind)::smallint)
   limit :maxKeys::integer
), claimed as (
  update stint.job
     set state      = 'running',
         worker_id  = :worker::uuid,
         lease_id   = :lease::uuid,
         attempt    = attempt + 1,
         epoch      = epoch + 1,
         started_at = stint.now(),
         unique_key = case when unique_until_start then null else unique_key end
   where id = any(array(
           select mine.id
             from turns
            cross join lateral (
                    select id
                      from stint.job
                     where queue = :queue::text
                       and key = turns.key
                       and key is not null
                       and state = 'ready'
                       and version <= (:kinds::jsonb ->> kind)::smallint
                     order by priority desc, run_at, id
                     limit :perKey::integer
                       for update skip locked) as mine
            limit :limit::integer))
  returning id, kind, input, attempt, max_attempts, epoch, version, run_at, priority, key,
            jsonb_build_object(
              'correlationId', correlation_id, 'traceparent', traceparent, 'tracestate', tracestate,
              'parentId', parent_id, 'flowId', flow_id, 'inputBlob', input_blob,
              'isExpired', deadline_at < stint.now(), 'timeoutMs', options -> 'timeoutMs',
              'failures', failures, 'attemptsBefore', attempts_before, 'progress', progress,
              'crashes', crashes) as more
)
select id, kind, input, attempt, max_attempts as "maxAttempts", epoch, version, priority, key, more,
       (run_at at time zone 'utc')::text as "runAt"
  from claimed
 order by priority desc, claimed.run_at, id
