-- End a job that is not running: it moves to history as cancelled. A correlation id that is longer than any that Stint
-- stores is cut: it may not fit into the index there, and then the job could never be cancelled.
with gone as (
  delete from stint.job
   where id = :id::uuid
     and state <> 'running'
  returning *
), counted as (
  insert into stint.stat_settle (minute, queue, kind, cancelled)
  select date_trunc('minute', stint.now()), queue, kind, 1
    from gone
)
insert into stint.finished (
  id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
  created_at, run_at, started_at, finished_at, deadline_at, worker_id, lease_id,
  correlation_id, traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
  attempts_before, replaces, reason
)
select id, 'cancelled', queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, stint.now(), deadline_at, worker_id, lease_id,
       left(correlation_id, 256), traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
       attempts_before, replaces, :reason::text
  from gone
returning id
