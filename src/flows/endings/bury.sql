-- Move jobs of flows that will not run again by themselves to the dead letters, if their lease still holds, as
-- jobs/dead-letter.sql does it for all other jobs. Records of steps stay, for a replay.
--
-- :items is the object by id that jobs/dead-letter.sql takes.
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
), output as (
  insert into stint.flow_output (flow_id, node, member, job_id, state, error)
  select flow_id, node, member, id, 'dead', :items::jsonb -> id::text -> 'error'
    from gone
   where flow_id is not null
     and node is not null
     and member is not null
  on conflict do nothing
), member_ended as (
  insert into stint.flow_ending (flow_id, node, dead)
  select flow_id, node, count(*)
    from gone
   where flow_id is not null
     and node is not null
   group by flow_id, node
)
insert into stint.dead (
  node, member,
  -- include: jobs/dead-columns
)
select node, member, id, queue, kind, key, priority, attempt, max_attempts,
       least(coalesce((item ->> 'crashes')::integer, crashes), 32767), epoch, version,
       created_at, run_at, started_at, stint.now(), deadline_at, worker_id, lease_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
       progress, failures, attempts_before, replaces, unique_key, unique_until_start,
       item ->> 'reason', item -> 'error', item ->> 'fingerprint'
  from gone
 cross join lateral (select :items::jsonb -> id::text as item) as said
returning id
