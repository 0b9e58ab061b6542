-- Move succeeded jobs out of the live table into history, where their lease still holds.
--
-- The lease alone decides: lease_id is null unless the job runs. "and state = 'running'" would only lure the planner
-- to the running index, which its statistics call empty.
-- Two lists, not a join over unnest(), which was planned as a nested loop. They cannot cross: settle.ts batches a job
-- only under the newest lease this process has for it, and sends an older one alone.
with done as (
  delete from stint.job
   where id       = any(:ids::uuid[])
     and lease_id = any(:leaseIds::uuid[])
     and (select set_config('lock_timeout', coalesce(:lockMs::text, current_setting('lock_timeout')), true)) is not null
  returning *
), counted as (
  insert into stint.stat_settle (minute, queue, kind, succeeded, attempts)
  select date_trunc('minute', stint.now()), queue, kind, count(*), sum(attempt)
    from done
   group by queue, kind
)
insert into stint.finished (
  id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
  created_at, run_at, started_at, finished_at, deadline_at, worker_id, lease_id,
  correlation_id, traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
  attempts_before, replaces, result
)
select id, 'succeeded', queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, stint.now(), deadline_at, worker_id, lease_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
       attempts_before, replaces, :results::jsonb -> id::text
  from done
returning id
