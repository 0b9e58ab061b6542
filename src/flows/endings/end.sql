-- End running jobs that have a flow or records of steps, where their lease still holds: they move to history as succeeded or
-- cancelled. jobs/succeed.sql and jobs/cancel-running.sql do it for all other jobs.
--
-- :results and :items are objects by id, or null: of results, and of { reason } for cancelled jobs. :steps is an object by id
-- of the records for people, and has every job that has records: the rest of the jobs is not looked up. The worker has read
-- the records; to aggregate them here would cost twice as much.
-- A row in flow_ending and no count in the flow's own row: all settlers would wait for that one.
with done as (
  delete from stint.job
   where id       = any(:ids::uuid[])
     and lease_id = any(:leaseIds::uuid[])
     and (select set_config('lock_timeout', coalesce(:lockMs::text, current_setting('lock_timeout')), true)) is not null
  returning *
), counted as (
  insert into stint.stat_settle (minute, queue, kind, succeeded, attempts, cancelled)
  select date_trunc('minute', stint.now()), queue, kind,
         count(*) filter (where :state::text = 'succeeded'),
         coalesce(sum(attempt) filter (where :state::text = 'succeeded'), 0),
         count(*) filter (where :state::text = 'cancelled')
    from done
   group by queue, kind
), stepped as materialized (
  select id
    from done
   where :steps::jsonb ? id::text
), records as (
  delete from stint.step
   where job_id = any(array(select id from stepped))
), signals as (
  delete from stint.signal
   where job_id = any(array(select id from stepped))
), output as (
  insert into stint.flow_output (flow_id, node, member, job_id, state, result)
  select flow_id, node, member, id, :state::stint.job_state, :results::jsonb -> id::text
    from done
   where flow_id is not null
     and node is not null
     and member is not null
  on conflict do nothing
), member_ended as (
  insert into stint.flow_ending (flow_id, node, succeeded, cancelled)
  select flow_id, node,
         count(*) filter (where :state::text = 'succeeded'), count(*) filter (where :state::text = 'cancelled')
    from done
   where flow_id is not null
     and node is not null
   group by flow_id, node
), flow_cancelled as (
  -- The flows that a cancelled job made.
  insert into stint.flow_ending (flow_id)
  select flow.id
    from stint.flow
   where parent_id = any(array(select id from done where :state::text = 'cancelled'))
     and parent_id is not null
     -- Not `is null`: without statistics the planner would read the index of all open flows.
     and coalesce(ended_at, 'infinity') = 'infinity'
)
insert into stint.finished (
  node, member, result, steps,
  -- include: jobs/finished-columns
)
select node, member, :results::jsonb -> id::text, :steps::jsonb -> id::text,
       :items::jsonb -> id::text ->> 'reason',
       id, :state::stint.job_state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, stint.now(), deadline_at, worker_id, lease_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
       attempts_before, replaces
  from done
returning id
