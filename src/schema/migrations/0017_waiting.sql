-- Waiting: a running job gives back its slot until a time, a signal, its children or another job; and signals to jobs.
--
-- Both sides of a race take the same lock, so that no wake-up is lost: a signal looks at the job after it is stored, a
-- suspending job looks for signals after it has the lock. Each look is a statement of its own, because in read committed that is
-- a new snapshot: one statement that waits for a lock goes on with the snapshot from before.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- The lock of a job's signals, held to the end of a transaction.
create function stint.mail_lock(job uuid) returns bigint
language sql immutable parallel safe
as $$ select hashtextextended('stint:mail:' || job, 0) $$;

-- Whether one of these signals is in what a job waits for: [{ name, match }]. Another role may have written it.
create function stint.is_awaited(waits jsonb, signal_name text, payload jsonb) returns boolean
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from jsonb_array_elements(case when jsonb_typeof(waits -> 'signals') = 'array' then waits -> 'signals' else '[]' end) as wait
     where wait ->> 'name' = signal_name
       and (not wait ? 'match' or payload @> (wait -> 'match')))
$$;

-- Whether what a job waits for has happened: { flows: { id: "ended" | "dead" | "failed" } } (see
-- note_node_endings()), and { jobs: [id] }, which is over when none of them is live. Looked at under the locks of the flows.
create function stint.is_wait_over(waits jsonb) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  return exists (
           select
             from jsonb_each_text(case when jsonb_typeof(waits -> 'flows') = 'object' then waits -> 'flows' else '{}' end) as wait (flow_id, until)
             left join stint.flow as f on f.id = wait.flow_id::uuid
            where f.id is null
               or f.type = 'flow' and f.open_nodes <= 0 and wait.until <> 'failed'
               or exists (select
                            from stint.flow_node as n
                           where n.flow_id = f.id
                             and (f.type = 'children' and n.remaining <= 0 and wait.until <> 'failed'
                                  or wait.until <> 'ended' and n.dead + n.cancelled > 0)))
      or jsonb_typeof(waits -> 'jobs') = 'array'
         and not exists (
               select
                 from jsonb_array_elements_text(waits -> 'jobs') as target (id)
                where exists (select from stint.job as j where j.id = target.id::uuid));
end
$$;

-- Suspends running jobs, where their lease still holds: they wait for a time, a signal, their children or another job, without
-- a slot and a lease.
--
-- `said` is a list of { id, lease, waits, untilMs, untilAt, ranMs, reason }. Without an end the wait lasts ten years: arithmetic
-- with infinity fails. Progress was made: crashes are forgotten, no attempt is burned, and the deadline, which is for the first
-- start, is over. A job whose wait is over already, or that was asked to stop, is ready at once. While a transaction that has
-- sent it a signal is open, the job looks again every half second.
--
-- Locks are taken in the order of count_endings(): running rows, then flows, then, by the count, rows that wait. What the jobs
-- wait for is looked at after that, in a newer snapshot: an ending that is not counted yet is counted here, and one that comes
-- later finds the job waiting.
--
-- Hash joins and sequential scans are off: a plan made for a small table would be kept when it has grown.
create function stint.suspend(said jsonb, by_worker uuid)
returns table (type text, id uuid, queue text, priority smallint, key text, "runAt" text)
language plpgsql
set enable_seqscan to off set enable_hashjoin to off set enable_mergejoin to off
as $$
#variable_conflict use_column
declare
  own     uuid[];
  unheard uuid[];
  flows   uuid[];
begin
  own := array(
    select mine.id
      from jsonb_to_recordset(said) as s (id uuid, lease uuid)
     cross join lateral (
             select job.id
               from stint.job
              where job.id = s.id
                and job.lease_id = s.lease
                for no key update) as mine);
  unheard := array(
    select s.id
      from jsonb_to_recordset(said) as s (id uuid, waits jsonb)
     where s.waits ? 'signals'
       and not pg_try_advisory_xact_lock(stint.mail_lock(s.id)));
  flows := array(
    select f.id
      from stint.flow as f
     where f.id = any(array(
             select wait.flow_id::uuid
               from jsonb_to_recordset(said) as s (id uuid, waits jsonb)
              cross join lateral jsonb_object_keys(s.waits -> 'flows') as wait (flow_id)
              where s.id = any(own)))
     order by f.id
       for no key update);
  if cardinality(flows) > 0 then
    return query
    select c.type, c.id, c.queue, c.priority, c.key, null::text from stint.count_endings(flows) as c where c.type = 'ready';
  end if;
  insert into stint.job_watch (target_id, job_id)
  select distinct target.id::uuid, s.id
    from jsonb_to_recordset(said) as s (id uuid, waits jsonb)
   cross join lateral jsonb_array_elements_text(s.waits -> 'jobs') as target (id)
   where s.id = any(own)
      on conflict do nothing;
  return query
    with item as materialized (
      select s.*,
             exists (select
                       from stint.signal
                      where signal.job_id = s.id
                        and signal.taken_by is null
                        and stint.is_awaited(s.waits, signal.name, signal.payload))
             or case when s.waits ?| array['flows', 'jobs'] then stint.is_wait_over(s.waits) else false end as is_there
        from jsonb_to_recordset(said) as s (id uuid, lease uuid, waits jsonb, "untilMs" float8, "untilAt" timestamptz, "ranMs" float8,
                                                  reason text)
       where s.id = any(own)
    ), back as (
      update stint.job as j
         set state       = case when item.is_there or j.cancel_at is not null then 'ready' else 'waiting' end::stint.job_state,
             run_at      = case when item.is_there or j.cancel_at is not null then stint.now()
                                else greatest(stint.now(), least(
                                       stint.now() + interval '10 years',
                                       item."untilAt",
                                       stint.now() + item."untilMs" * interval '1 millisecond',
                                       case when item.id = any(unheard) then stint.now() + interval '500 ms' end)) end,
             waits       = item.waits,
             attempt     = j.attempt - 1,
             crashes     = 0,
             suspect     = false,
             deadline_at = null,
             worker_id   = null,
             lease_id    = null,
             started_at  = null
        from item
       where j.id = item.id
         and j.lease_id = item.lease
      returning j.id, j.queue, j.kind, j.key, j.priority, j.state, j.epoch, j.attempt + 1 as attempt, j.run_at,
                item.lease, item."ranMs", item.reason
    ), noted as (
      insert into stint.attempt (job_id, epoch, attempt, outcome, worker_id, lease_id, started_at, ended_at, reason)
      select back.id, back.epoch, back.attempt, 'waiting', by_worker, back.lease,
             stint.now() - back."ranMs" * interval '1 millisecond', stint.now(), back.reason
        from back
    )
    select case when back.state = 'ready' then 'ready' else 'waiting' end, back.id, back.queue::text, back.priority, back.key,
           (back.run_at at time zone 'utc')::text
      from back;
end
$$;

-- Sends a signal to a job, also in the transaction of the caller: it arrives with the commit. The job wakes up if it waits for
-- it; otherwise the signal is kept until the job asks for it. `key` makes a second call a duplicate. `as_id` is the id of the
-- signal, made by a caller that repeats a call whose reply was lost.
--
-- outcome: sent, duplicate, ended (the job has), not-found, full (1,000 signals are not taken yet). With `sent`, the job's queue,
-- priority and key if it is ready now.
create function stint.signal(
  job uuid, name text, payload jsonb default '{}', key text default null, by text default null, as_id uuid default null,
  out outcome text, out signal_id uuid, out queue text, out priority smallint, out job_key text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if job is null then
    perform stint.refuse('job', 'to be the id of a job', null);
  elsif name is null or octet_length(name) > 128 or name !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$' then
    perform stint.refuse('name', 'to be a name of 1 to 128 letters, digits and _ . : / %% -', name);
  elsif payload is null then
    perform stint.refuse('payload', 'to be JSON', null);
  elsif octet_length(payload::text) > 65536 then
    perform stint.refuse('payload', 'to be at most 64 KiB', format('%s bytes', octet_length(payload::text)));
  elsif octet_length(key) not between 1 and 512 then
    perform stint.refuse('key', 'to be a string of 1 to 512 bytes', left(key, 80));
  elsif octet_length(by) > 512 then
    perform stint.refuse('by', 'to be a string of at most 512 bytes', left(by, 80));
  end if;
  perform pg_advisory_xact_lock(stint.mail_lock(signal.job));
  if not exists (select from stint.job as j where j.id = signal.job)
     and not exists (select from stint.dead as d where d.id = signal.job and d.discarded_at is null) then
    outcome := case when exists (select from stint.finished as f where f.id = signal.job) then 'ended' else 'not-found' end;
    return;
  elsif (select count(*)
           from (select
                   from stint.signal as s
                  where s.job_id = signal.job
                    and s.taken_by is null
                  limit 1000) as untaken) >= 1000 then
    outcome := 'full';
    return;
  end if;
  signal_id := coalesce(signal.as_id, stint.uuid_v7());
  insert into stint.signal as s (id, job_id, name, key, payload, sent_by)
  values (signal.signal_id, signal.job, signal.name, signal.key, signal.payload, signal.by)
      on conflict do nothing;
  if not found then
    outcome := case when exists (select from stint.signal as s where s.id = signal.as_id) then 'sent' else 'duplicate' end;
    if outcome = 'sent' then return; end if;
    signal_id := (select s.id from stint.signal as s where s.job_id = signal.job and s.name = signal.name and s.key = signal.key);
    return;
  end if;
  outcome := 'sent';
  -- The state as text: the planner takes the index of waiting jobs for empty, and would read all of it.
  update stint.job as j
     set state  = 'ready',
         run_at = stint.now()
   where j.id = signal.job
     and j.state::text = 'waiting'
     and stint.is_awaited(j.waits, signal.name, signal.payload)
  returning j.queue, j.priority, j.key into signal.queue, signal.priority, signal.job_key;
end
$$;
