-- Rows are checked by the database, not only by the library: a login with the role of a producer or an operator can write
-- any value that a column holds, and one bad row must not stop a queue or blind the console. What may not be written any
-- other way goes through functions that decide: audit rows, counts of enqueued jobs, partitions.
-- Idempotency keys count per queue and kind, not per kind; those taken before this migration are not seen any more.
--
-- Existing rows that are not allowed any more: jobs become dead letters, schedules, settings of queues and keys are deleted.
--
-- Lock: access exclusive on job, schedule, queue, idempotency_key and audit, while each is read once. Live jobs are few:
-- milliseconds for thousands. An index of the audit is built under it.
-- breaking: no

-- See decision 28 for why these are checks, why they are few, and why the names are not looked at while a job runs. The
-- limits are those of the library (src/intake, src/core/names.ts). They hold for every later write of the row too:
-- a retry, a snooze or a replay is at most ten years ahead of now, and max_attempts grows by what attempts_before does.
alter table stint.job
  -- Nobody but the owner and workers can change these two, so a claim need not look again.
  add constraint job_queue_name check (
    state = 'running' or octet_length(queue) <= 128 and queue ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$') not valid,
  add constraint job_kind_name check (
    state = 'running' or octet_length(kind) <= 128 and kind ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$') not valid,
  -- Times from the year 2000 to 9999. A job that was never claimed is not retrying. An input of 256 KiB of JSON takes
  -- less than 2 MiB, whatever is in it.
  add constraint job_in_bounds check (
    priority between -100 and 100
    and version >= 1
    and max_attempts - coalesce(attempts_before, 0) between 1 and 1000
    and least(created_at, run_at) >= to_timestamp(946684800)
    and greatest(created_at, run_at) < to_timestamp(253402300800)
    and (state <> 'retrying' or epoch > 0)
    and (input is null or pg_column_size(input) <= 2097152)) not valid,
  -- What few jobs have. Search words: 8, and that of the schedule which made the job.
  add constraint job_extras_in_bounds check (
    num_nonnulls(key, unique_key, input_blob, correlation_id, traceparent, tracestate, deadline_at, search, options) = 0
    or (key is null or octet_length(key) between 1 and 512)
       and (unique_key is null or octet_length(unique_key) <= 641)
       and (input_blob is null or octet_length(input_blob) = 54 and input_blob ~ '^inputs/[0-9-]*/[0-9a-f-]*$')
       and (correlation_id is null or octet_length(correlation_id) between 1 and 256)
       and (traceparent is null or octet_length(traceparent) = 55 and traceparent ~ '^[0-9a-f-]*$')
       and (tracestate is null or octet_length(tracestate) between 1 and 512)
       and (deadline_at is null or deadline_at >= to_timestamp(946684800) and deadline_at < to_timestamp(253402300800))
       and case
             when search is null or cardinality(search) = 0 then true
             when array_ndims(search) > 1 or array_lower(search, 1) <> 1 or cardinality(search) > 9 then false
             else array_position(search, null) is null
                  and greatest(octet_length(search[1]), octet_length(search[2]), octet_length(search[3]),
                               octet_length(search[4]), octet_length(search[5]), octet_length(search[6]),
                               octet_length(search[7]), octet_length(search[8]), octet_length(search[9])) <= 321
           end
       and case
             when options is null then true
             when jsonb_typeof(options) <> 'object' or options - array['timeoutMs', 'crashLimit'] <> '{}' then false
             else case jsonb_typeof(options -> 'timeoutMs')
                    when 'number' then (options ->> 'timeoutMs')::numeric between 1 and 315576000000
                    else not options ? 'timeoutMs'
                  end
                  and case jsonb_typeof(options -> 'crashLimit')
                        when 'number' then options ->> 'crashLimit' ~ '^([1-9][0-9]?|100)$'
                        else not options ? 'crashLimit'
                      end
           end) not valid;

alter table stint.schedule
  add constraint schedule_names check (
    octet_length(name) <= 128 and name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'
    and octet_length(kind) <= 128 and kind ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'
    and octet_length(queue) <= 128 and queue ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$') not valid,
  add constraint schedule_in_bounds check (
    missed_limit between 0 and 1000
    and missed_window_ms between 0 and 31622400000         -- 366 days
    and jitter_ms between 0 and 86400000                   -- a day
    and keep_fires_ms between 0 and 316224000000           -- 3,660 days
    and octet_length(time_zone) between 1 and 64
    and pg_column_size(spec) <= 65536
    and pg_column_size(job) <= 65536
    and (input is null or pg_column_size(input) <= 2097152)) not valid;

-- More than can be counted back from now would stop all of upkeep.
alter table stint.queue
  add constraint queue_name check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$') not valid,
  add constraint queue_in_bounds check (keep_finished <= interval '3660 days' and keep_dead <= interval '3660 days') not valid;

alter table stint.idempotency_key
  add constraint idempotency_key_in_bounds check (octet_length(scope) <= 1500 and octet_length(key) between 1 and 641) not valid;

do $$
declare
  door record;
begin
  for door in
    select conrelid::regclass as relation, conname, pg_get_expr(conbin, conrelid) as rule
      from pg_constraint
     where conrelid in ('stint.job'::regclass, 'stint.schedule'::regclass, 'stint.queue'::regclass, 'stint.idempotency_key'::regclass)
       and not convalidated
  loop
    if door.relation = 'stint.job'::regclass then
      -- Without what may be the bad part, so that it can be stored, and looked at.
      execute format($q$
        with gone as (delete from stint.job where not (%s) returning *)
        insert into stint.dead (
          id, created_at, run_at, epoch, attempt, max_attempts, crashes, priority, version, queue, kind, input, reason, error)
        select id, created_at, created_at, epoch, attempt, 1 + coalesce(attempts_before, 0), crashes, 0, 1,
               left(queue, 128), left(kind, 128), input, 'permanent',
               jsonb_build_object(
                 'class', 'permanent', 'name', 'InvalidRow', 'causes', '[]'::jsonb,
                 'message', 'The row is not allowed by the constraint ' || %L || '. A migration took it out of the queue.')
          from gone
        on conflict do nothing$q$, door.rule, door.conname);
    else
      execute format('delete from %s where not (%s)', door.relation, door.rule);
    end if;
    execute format('alter table %s validate constraint %I', door.relation, door.conname);
  end loop;
end
$$;

-- Stores one job, or finds the one that stands for it; see 0002_enqueue.sql for the outcomes.
create or replace function stint.enqueue_one(wanted jsonb, again boolean, out job_id uuid, out outcome text)
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  new_id      uuid := (wanted ->> 'id')::uuid;
  new_queue   text := wanted ->> 'queue';
  due         timestamptz := coalesce(
                (wanted ->> 'runAt')::timestamptz,
                stint.now() + coalesce((wanted ->> 'delayMs')::float8, 0) * interval '1 millisecond');
  due_state   stint.job_state := case when due > stint.now() then 'scheduled' else 'ready' end;
  input_given jsonb := case when wanted ? 'inputBlob' then null else coalesce(wanted -> 'input', 'null') end;
  digest      bytea := case when wanted ? 'inputDigest' then decode(wanted ->> 'inputDigest', 'hex')
                            else sha256(convert_to(input_given::text, 'UTF8')) end;
  rule        jsonb := wanted -> 'unique';
  -- The kind is part of it: two kinds of one queue may well be unique by the same customer.
  wanted_key  text := (wanted ->> 'kind') || ' ' || coalesce(rule ->> 'key', encode(digest, 'hex'));
  on_conflict text := coalesce(rule ->> 'onConflict', 'keep');
  -- As JSON, in which no name can pass for two. The last is whom the caller acts for, where it says so: the console does.
  idempotency text := 'enqueue ' || jsonb_build_array(new_queue, wanted ->> 'kind', wanted ->> 'idempotencyScope')::text;
  longest     float8 := 315576000000;                      -- ten years
  tokens      text[] := nullif(array(select jsonb_array_elements_text(wanted -> 'tokens')), '{}');
  held        record;
begin
  if wanted ? 'idempotencyKey' then
    held := stint.take_key(idempotency, wanted ->> 'idempotencyKey', new_id, digest,
      least(coalesce((wanted ->> 'idempotencyForMs')::float8, 86400000), longest) * interval '1 millisecond');
    if not held.same_input then
      job_id := held.holder;
      outcome := 'mismatch';
      return;
    elsif held.holder <> new_id then
      job_id := held.holder;
      outcome := 'kept';
      return;
    end if;
  end if;

  if rule ? 'forMs' then
    held := stint.take_key('unique ' || new_queue, wanted_key, new_id, digest,
      least((rule ->> 'forMs')::float8, longest) * interval '1 millisecond');
    job_id := nullif(held.holder, new_id);
  end if;

  for try in 1 .. 100 loop
    if job_id is null then
      insert into stint.job (
        id, state, queue, kind, key, priority, run_at, max_attempts, version, input, input_blob,
        unique_key, unique_until_start,
        correlation_id, traceparent, tracestate, parent_id, flow_id, deadline_at, search, options)
      values (
        new_id, due_state, new_queue, wanted ->> 'kind', wanted ->> 'key', coalesce((wanted ->> 'priority')::smallint, 0), due,
        coalesce((wanted ->> 'maxAttempts')::integer, 5), coalesce((wanted ->> 'version')::smallint, 1), input_given, wanted ->> 'inputBlob',
        case when rule ? 'until' then wanted_key end,
        case when rule ->> 'until' = 'started' then true end,
        wanted ->> 'correlationId', wanted ->> 'traceparent', wanted ->> 'tracestate', (wanted ->> 'parentId')::uuid, (wanted ->> 'flowId')::uuid,
        coalesce((wanted ->> 'deadlineAt')::timestamptz, due + (wanted ->> 'deadlineMs')::float8 * interval '1 millisecond'),
        tokens, wanted -> 'options')
      on conflict do nothing;

      if found then
        if again and stint.has_ended(new_id) then
          delete from stint.job where id = new_id;
        elsif wanted ? 'inputBlob' then
          insert into stint.blob (key, job_id) values (wanted ->> 'inputBlob', new_id) on conflict do nothing;
        end if;
        job_id := new_id;
        outcome := 'stored';
        return;
      end if;

      if exists (select from stint.job where id = new_id) or (again and stint.has_ended(new_id)) then
        job_id := new_id;
        outcome := 'stored';
        return;
      end if;

      select id into job_id from stint.job where queue = new_queue and unique_key = wanted_key;
      continue when job_id is null;                        -- it ended between the two: the key is free
    end if;

    if on_conflict = 'error' then
      -- Nothing comes of this job, so its idempotency key is free again.
      delete from stint.idempotency_key as k
       where k.scope = idempotency
         and k.key = wanted ->> 'idempotencyKey'
         and k.job_id = new_id;
      outcome := 'conflict';
      return;
    end if;

    outcome := 'kept';
    if on_conflict in ('replace', 'debounce') then
      update stint.job
         set input        = input_given,
             input_blob   = wanted ->> 'inputBlob',
             key          = wanted ->> 'key',
             version      = coalesce((wanted ->> 'version')::smallint, 1),
             priority     = coalesce((wanted ->> 'priority')::smallint, 0),
             max_attempts = coalesce(attempts_before, 0) + coalesce((wanted ->> 'maxAttempts')::integer, 5),
             search       = tokens,
             options      = wanted -> 'options',
             deadline_at  = coalesce(
                              (wanted ->> 'deadlineAt')::timestamptz,
                              case when on_conflict = 'debounce' then due else run_at end
                                + (wanted ->> 'deadlineMs')::float8 * interval '1 millisecond'),
             run_at       = case when on_conflict = 'debounce' then due else run_at end,
             state        = case when on_conflict = 'debounce' and state <> 'waiting' then due_state else state end
       where id = job_id
         and state <> 'running';
      if found then
        outcome := 'replaced';
        if wanted ? 'inputBlob' then
          insert into stint.blob (key, job_id) values (wanted ->> 'inputBlob', enqueue_one.job_id) on conflict do nothing;
        end if;
      end if;
    end if;

    -- A later call with this idempotency key is answered with the job that stands for it.
    if wanted ? 'idempotencyKey' then
      update stint.idempotency_key as k
         set job_id = enqueue_one.job_id
       where k.scope = idempotency
         and k.key = wanted ->> 'idempotencyKey';
    end if;
    return;
  end loop;
  raise exception 'could not place job % after 100 tries', new_id using errcode = 'serialization_failure';
end
$$;

-- Makes the partitions of `finished`, `attempt` and `log` for yesterday to `days` ahead, 60 at most; see 0007_upkeep.sql.
create or replace function stint.ensure_partitions(days integer default 14) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  made integer := 0;
  parent text;
  day date;
  name text;
begin
  if days is null or days not between 0 and 60 then
    raise exception 'stint.ensure_partitions: expected days to be an integer from 0 to 60, got %', coalesce(days::text, 'null')
      using errcode = 'invalid_parameter_value', column = 'days';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('stint.ensure_partitions', 0));
  foreach parent in array array['finished', 'attempt', 'log'] loop
    for ahead in -1 .. days loop
      day := (stint.now() at time zone 'utc')::date + ahead;
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      continue when to_regclass('stint.' || name) is not null;
      execute format('create table stint.%I (like stint.%I including all)', name, parent);
      execute format(
        'alter table stint.%I attach partition stint.%I for values from (%L) to (%L)',
        parent, name, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
      made := made + 1;
    end loop;
  end loop;
  return made;
end
$$;

-- From when on history is kept. Bounded, so that no setting of a queue can stop the upkeep of all.
create or replace function stint.history_start() returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select stint.now() - least(greatest(stint.kept_by_default(), (select max(keep_finished) from stint.queue)), interval '36525 days')
$$;

-- How producers say what they enqueued. What no client of ours sends is left out: another time than the last day, a name
-- that is none, the two processes that stand for sums (count-settled.sql, roll-up.sql).
create or replace function stint.note_enqueued(process uuid, flush integer, rows jsonb) returns timestamptz
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into stint.stat_minute as known (minute, queue, kind, process, flush, enqueued)
  select said.minute, said.queue, said.kind, note_enqueued.process, note_enqueued.flush, least(said.enqueued, 1000000000)
    from jsonb_to_recordset(rows) as said (minute timestamptz, queue text, kind text, enqueued bigint)
   where note_enqueued.process not in ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
     and said.minute between stint.now() - interval '1 day' and stint.now() + interval '1 hour'
     and said.minute = date_trunc('minute', said.minute)
     and said.enqueued > 0
     and octet_length(said.queue) <= 128
     and said.queue ~ '^([A-Za-z0-9_][A-Za-z0-9_.:/%-]*|\(others\))$'
     and octet_length(said.kind) <= 128
     and said.kind ~ '^([A-Za-z0-9_][A-Za-z0-9_.:/%-]*|\(others\))$'
  on conflict on constraint stat_minute_pkey do update
     set flush    = excluded.flush,
         enqueued = excluded.enqueued
   where known.flush < excluded.flush;
  select stint.now();
end;

delete from stint.stat_minute
 where minute not between to_timestamp(946684800) and stint.now() + interval '1 day';

-- The actor is what the console says. The login is what the database knows.
alter table stint.audit add column login text;
create index audit_at on stint.audit (at);

-- Notes what a person did, or tried to do, at this moment, and by which login. A note that is sent again is one note.
create function stint.note_audit(id uuid, actor text, role text, origin text, action text, target text, outcome text,
                                 reason text, before jsonb, after jsonb, operation_id uuid, request_id text) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into stint.audit (
    id, at, login, actor, role, origin, action, target, outcome, reason, before, after, operation_id, request_id)
  values (
    note_audit.id, stint.now(), session_user, note_audit.actor, note_audit.role, note_audit.origin, note_audit.action,
    note_audit.target, note_audit.outcome, note_audit.reason, note_audit.before, note_audit.after,
    note_audit.operation_id, note_audit.request_id)
  on conflict do nothing;
end;

-- What only the owner sets. One row.
create table stint.retention (
  id              boolean         not null default true,
  audit           interval        not null default interval '400 days',
  constraint retention_pkey primary key (id),
  constraint retention_one check (id),
  constraint retention_audit check (audit between interval '1 day' and interval '36525 days')
);
insert into stint.retention default values;

-- Removes the oldest notes whose time is over. Those who may call it can only say "now".
create function stint.prune_audit(skip integer, most integer) returns integer
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  with gone as (
    delete from stint.audit
     where ctid = any(array(
             select ctid
               from stint.audit
              where at < stint.now() - (select retention.audit from stint.retention)
              order by at, id
             offset prune_audit.skip
              limit prune_audit.most
                for update skip locked))
    returning id
  )
  select count(*)::integer from gone;
end;
