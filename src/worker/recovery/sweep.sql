-- Take back those of these jobs that run under workers that are lost. :ids only says where to look (lost.sql); whether
-- a job is taken is decided here, under its lock. "Not live" never becomes live again, so deciding by this snapshot is
-- safe.
-- A job has a lease exactly while it runs. "state = 'running'" would lure the planner to the running index, which its
-- statistics may call empty; the worker is read in a subselect, because a join could be planned in many ways.
--
-- A crash burns no attempt. It is counted for a job whose handler had surely begun; the other jobs become suspects. A
-- suspect runs alone from then on and notes that it has begun, so that the next crash has one known cause. Being a
-- suspect counts as one crash towards the limit, :crashLimit or that of the contract, at which the job is quarantined. A
-- stored limit that is no number is ignored.
-- The rows of "gone" are locked, so each of them goes back or is killed, and the notes need no join with the results: a
-- planner that expects one row joined them by comparing each with each.
with gone as materialized (
  select id, epoch, attempt, worker_id, lease_id, started_at,
         coalesce(begun_lease = lease_id, false) as began,
         coalesce(begun_lease = lease_id, false)
           and crashes + suspect::integer + 1 >= case when options ->> 'crashLimit' ~ '^[0-9]{1,4}$'
                                                      then (options ->> 'crashLimit')::integer
                                                      else :crashLimit::integer end as poison
    from stint.job
   where id = any(:ids::uuid[])
     and lease_id is not null
     and not coalesce((select lost_at is null from stint.worker where worker.id = job.worker_id), false)
     for update skip locked
), back as (
  update stint.job
     set state      = 'ready',
         worker_id  = null,
         lease_id   = null,
         started_at = null,
         attempt    = attempt - 1,
         crashes    = least(crashes + coalesce(begun_lease = lease_id, false)::integer, 32767),
         suspect    = suspect or begun_lease is distinct from lease_id
   where id = any(array(select id from gone where not poison))
  returning id, queue, kind, priority, run_at, key, attempt + 1 as attempt
), killed as (
  delete from stint.job
   where id = any(array(select id from gone where poison))
  returning *
), buried as (
  insert into stint.dead (
    node, member,
    -- include: jobs/dead-columns
  )
  select node, member, id, queue, kind, key, priority, attempt, max_attempts, least(crashes + suspect::integer + 1, 32767), epoch, version,
         created_at, run_at, started_at, stint.now(), deadline_at, worker_id, lease_id,
         correlation_id, traceparent, tracestate, parent_id, flow_id, search, options, input, input_blob,
         progress, failures, attempts_before, replaces, unique_key, unique_until_start,
         'quarantined',
         jsonb_build_object(
           'class', 'crash', 'name', 'WorkerLost',
           'message', format('Its worker ended while it ran, %s times in all%s. The last time: %s.',
                             crashes + suspect::integer + 1,
                             case when suspect then ', the first time beside others' else '' end,
                             (select stint.death_of(worker_id))),
           'causes', '[]'::jsonb),
         substr(md5('crash ' || kind), 1, 16)
    from killed
  returning id, queue, kind, attempt, flow_id, node, member, error
), member_ended as (
  insert into stint.flow_ending (flow_id, node, dead)
  select flow_id, node, count(*)
    from buried
   where flow_id is not null
     and node is not null
   group by flow_id, node
), output as (
  insert into stint.flow_output (flow_id, node, member, job_id, state, error)
  select flow_id, node, member, id, 'dead', error
    from buried
   where flow_id is not null
     and node is not null
     and member is not null
  on conflict do nothing
), counted as (
  insert into stint.stat_settle (minute, queue, kind, lease_expired, dead)
  select date_trunc('minute', stint.now()), queue, kind, count(*), count(*) filter (where is_dead)
    from (select queue, kind, false as is_dead from back union all select queue, kind, true from killed) as swept
   group by queue, kind
), noted as (
  insert into stint.attempt (job_id, epoch, attempt, outcome, worker_id, lease_id, started_at, ended_at, reason)
  select id, epoch, attempt, 'lease-lost', worker_id, lease_id, started_at, stint.now(),
         case when began then 'its worker ended while it ran: '
              else 'its worker ended, perhaps before it began: ' end || stint.death_of(worker_id)
    from gone
)
select id, queue, kind, attempt, priority, (run_at at time zone 'utc')::text as "runAt", key, false as quarantined from back
union all
select id, queue, kind, attempt, null, null, null, true from buried
