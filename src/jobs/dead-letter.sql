-- Move jobs that will not run again by themselves to the dead letters, if their lease still holds.
--
-- :items is an object by id: { lease, ranMs, outcome, reason, error, fingerprint }, with `crashes` (how often in all)
-- if its process ended under it.
with gone as (
  delete from stint.job
   where id       = any(:ids::uuid[])
     and lease_id = any(:leaseIds::uuid[])
     and (select set_config('lock_timeout', coalesce(:lockMs::text, current_setting('lock_timeout')), true)) is not null
  returning *
), counted as (
  insert into stint.stat_settle (minute, queue, kind, dead)
  select date_trunc('minute', stint.now()), queue, kind, count(*)
    from gone
   group by queue, kind
), noted as (
  insert into stint.attempt (
    job_id, epoch, attempt, outcome, worker_id, lease_id, started_at, ended_at, error, fingerprint)
  select id, epoch, attempt, item ->> 'outcome', worker_id, lease_id,
         stint.now() - (item ->> 'ranMs')::float8 * interval '1 millisecond', stint.now(),
         item -> 'error', item ->> 'fingerprint'
    from gone
   cross join lateral (select :items::jsonb -> id::text as item) as said
)
insert into stint.dead (
  -- include: jobs/dead-columns
)
select id, queue, kind, key, priority, attempt, max_attempts,
       least(coalesce((item ->> 'crashes')::integer, crashes), 32767), epoch, version,
       created_at, run_at, started_at, stint.now(), deadline_at, worker_id, lease_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
       progress, failures, attempts_before, replaces, unique_key, unique_until_start,
       item ->> 'reason', item -> 'error', item ->> 'fingerprint'
  from gone
 cross join lateral (select :items::jsonb -> id::text as item) as said
returning id
