-- Enqueue for the cases that one insert cannot decide: uniqueness, idempotency keys, a repeat after a lost reply.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- A key that is taken for a time: the idempotency key of a producer, or a uniqueness that outlives its job. Upkeep deletes
-- expired rows in batches, and every enqueue with a key reads the table, so it is vacuumed early.
create table stint.idempotency_key (
  scope           text collate "C" not null,
  key             text collate "C" not null,
  job_id          uuid            not null,
  digest          bytea           not null,                         -- of the input that came with the key
  created_at      timestamptz     not null default stint.now(),
  expires_at      timestamptz     not null,
  constraint idempotency_key_pkey primary key (scope, key),
  constraint idempotency_key_in_bounds check (octet_length(scope) <= 1500 and octet_length(key) between 1 and 641)
) with (autovacuum_vacuum_scale_factor = 0.05);

create index idempotency_key_expiry on stint.idempotency_key (expires_at);

-- Refuses an argument by its name, with what is expected and what was received.
create function stint.refuse(field text, problem text, received text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'stint.enqueue: expected % %, got %', field, problem, coalesce(left(received, 200), 'null')
    using errcode = 'invalid_parameter_value', column = field;
end
$$;

-- Takes a key for a time, and returns the job that has it: the caller's own, or the one that came first.
create function stint.take_key(scope text, key text, job_id uuid, digest bytea, hold interval, out holder uuid, out same_input boolean)
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  for try in 1 .. 100 loop
    insert into stint.idempotency_key as k (scope, key, job_id, digest, expires_at)
    values (take_key.scope, take_key.key, take_key.job_id, take_key.digest, stint.now() + hold)
    on conflict on constraint idempotency_key_pkey do update
       set job_id = excluded.job_id,
           digest = excluded.digest,
           created_at = excluded.created_at,
           expires_at = excluded.expires_at
     where k.expires_at <= stint.now()
    returning k.job_id, true into holder, same_input;
    exit when holder is not null;

    select k.job_id, k.digest = take_key.digest
      into holder, same_input
      from stint.idempotency_key k
     where k.scope = take_key.scope
       and k.key = take_key.key;
    exit when holder is not null;                          -- null: deleted between the two statements, take it again
  end loop;
end
$$;

-- Whether a job has left the live table. Dead letters are found by primary key, finished jobs from the day of their id on:
-- a UUIDv7 contains when it was made, and a job cannot end before that (an hour is added for clocks that disagree).
create function stint.has_ended(ended_id uuid) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp
as $$
declare
  made_at timestamptz := to_timestamp(('x' || substr(translate(ended_id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0);
begin
  return exists (select from stint.dead where id = ended_id)
      or exists (select from stint.finished where id = ended_id and finished_at >= made_at - interval '1 hour');
end
$$;

-- Stores one job, or finds the job that stands for it. `outcome` is
--   stored    this job is stored, now or by an earlier try with the same id
--   kept      another job stands for it, unchanged
--   replaced  another job stands for it and took over this input
--   conflict  another job is in the way and onConflict is `error`
--   mismatch  the idempotency key was used with another input
--
-- Insert first, look second: finished jobs leave stint.job, so a repeat of a lost enqueue would store a job again that has
-- already finished. Each statement of this function has a newer snapshot than the one before; the CTEs of one statement
-- would share a snapshot.
--
-- An idempotency key counts per queue and kind. A job that is replaced after a replay gets maxAttempts new attempts: those
-- before the replay do not count.
create function stint.enqueue_one(wanted jsonb, again boolean, out job_id uuid, out outcome text)
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
  -- The kind is part of the key: two kinds of one queue may both be unique by customer.
  wanted_key  text := (wanted ->> 'kind') || ' ' || coalesce(rule ->> 'key', encode(digest, 'hex'));
  on_conflict text := coalesce(rule ->> 'onConflict', 'keep');
  -- As JSON, so that no two lists of names give the same text. The console sets idempotencyScope to the person it acts for.
  idempotency text := 'enqueue ' || jsonb_build_array(new_queue, wanted ->> 'kind', wanted ->> 'idempotencyScope')::text;
  longest     float8 := 315576000000;                      -- ten years
  tokens      text[] := nullif(array(select jsonb_array_elements_text(wanted -> 'tokens')), '{}');
  held        record;
begin
  if octet_length(wanted_key) > 641 then                   -- the longest kind, a space, the longest key
    perform stint.refuse('unique.key', 'to be a string of 1 to 512 bytes', left(wanted_key, 600));
  end if;
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
      continue when job_id is null;                        -- that job ended between the two statements: try again
    end if;

    if on_conflict = 'error' then
      -- This job is not stored, so its idempotency key is free again.
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

    -- A later call with this idempotency key gets the job that stands for it.
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

-- Stores many jobs, in the order given, and answers for each.
create function stint.enqueue_jobs(jobs jsonb, again boolean default false)
returns table (ordinal integer, job_id uuid, outcome text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  element record;
begin
  for element in select e.job, e.place from jsonb_array_elements(jobs) with ordinality as e (job, place) loop
    ordinal := element.place - 1;
    select one.job_id, one.outcome into job_id, outcome from stint.enqueue_one(element.job, again) as one;
    return next;
  end loop;
end
$$;
