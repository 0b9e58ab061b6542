-- End running jobs whose handler cancelled them, where their lease still holds: they move to history as cancelled.
--
-- :items is an object by id: { lease, reason }.
with gone as (
  delete from stint.job
   where id       = any(:ids::uuid[])
     and lease_id = any(:leaseIds::uuid[])
     and (select set_config('lock_timeout', coalesce(:lockMs::text, current_setting('lock_timeout')), true)) is not null
  returning *
), counted as (
  insert into stint.stat_settle (minute, queue, kind, cancelled)
  select date_trunc('minute', stint.now()), queue, kind, count(*)
    from gone
   group by queue, kind
), flow_cancelled as (
  -- Its children: an attempt that never called its context does not know whether the job has some.
  insert into stint.flow_ending (flow_id)
  select flow.id
    from stint.flow
   where parent_id = any(array(select gone.id from gone))
     and parent_id is not null
     -- Not `is null`: without statistics the planner would read the index of all open flows.
     and coalesce(ended_at, 'infinity') = 'infinity'
)
insert into stint.finished (
  -- include: jobs/finished-columns
)
select :items::jsonb -> id::text ->> 'reason',
       id, 'cancelled', queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, stint.now(), deadline_at, worker_id, lease_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
       attempts_before, replaces
  from gone
returning id
