-- Rows are checked by the database, not only by the library: a login with the role of a producer or an operator can write
-- any value that a column holds, and one bad row must not stop a queue or blind the console. What may not be written any
-- other way goes through functions that decide: audit rows, counts of enqueued jobs, partitions.
-- Idempotency keys count per queue and kind, not per kind; those taken before this migration are not seen any more.
--
-- Existing rows that are not allowed any more: jobs become dead letters, schedules, settings of queues and keys are deleted.
--
-- Lock: access exclusive on job, schedule, queue, idempotency_key and audit, while each is read a few times and none is
-- rewritten: a second for 100,000 live jobs. An index of the audit is built under it.
-- Views of your own over stint.job or stint.jobs have to be dropped first, and made again.
-- breaking: yes

-- Search words: 8, and that of the schedule which made the job. A function, and not part of the domain, because what is in
-- a domain is prepared for every statement that writes the table.
create function stint.is_search(words text[]) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
begin
  return cardinality(words) = 0
      or array_ndims(words) = 1
         and array_lower(words, 1) = 1
         and cardinality(words) <= 9
         and not exists (select from unnest(words) as word where word is null or octet_length(word) not between 1 and 321);
end
$$;

-- Strict: not called for the jobs that have no key.
create function stint.is_key(key text) returns boolean
language plpgsql immutable strict set search_path = pg_catalog, pg_temp
as $$
begin
  return octet_length(key) between 1 and 512;
end
$$;

create function stint.is_job_options(options jsonb) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(options) <> 'object' or options - array['timeoutMs', 'crashLimit', 'fireAt'] <> '{}' then
    return false;
  elsif options ? 'timeoutMs' and jsonb_typeof(options -> 'timeoutMs') <> 'number' then
    return false;
  elsif options ? 'crashLimit' and jsonb_typeof(options -> 'crashLimit') <> 'number' then
    return false;
  elsif options ? 'fireAt' and jsonb_typeof(options -> 'fireAt') <> 'string' then
    return false;
  end if;
  return coalesce((options ->> 'timeoutMs')::numeric between 1 and 315576000000, true)      -- ten years
     and coalesce(options ->> 'crashLimit' ~ '^([1-9][0-9]?|100)$', true)
     and coalesce(octet_length(options ->> 'fireAt') <= 24 and options ->> 'fireAt' ~ '^[0-9T:.-]*Z$', true);
end
$$;

-- What a producer may write to stint.job, with the limits of the library (src/intake, src/core/names.ts). Domains, where a
-- check of the table would be long: those are prepared anew for every statement, a claim's too (decision 28). A statement that
-- leaves a column alone does not look at it. What is written later fits as well: a retry, a snooze or a replay is at most
-- ten years ahead, and a replay adds at most 1,000 attempts.
--
-- The checks come after the columns: a column that gets a domain with a check is rewritten, with all its indexes, and the
-- table would lose the empty pages that plans need (0004_worker.sql).
create domain stint.job_name as text collate "C";
create domain stint.job_time as timestamptz;
create domain stint.job_blob as text;
create domain stint.job_correlation as text;
create domain stint.job_traceparent as text;
create domain stint.job_tracestate as text;
create domain stint.job_search as text[];
create domain stint.job_options as jsonb;

drop view stint.jobs;

alter table stint.job
  alter column queue          type stint.job_name,
  alter column kind           type stint.job_name,
  alter column run_at         type stint.job_time,
  alter column deadline_at    type stint.job_time,
  alter column input_blob     type stint.job_blob,
  alter column correlation_id type stint.job_correlation,
  alter column traceparent    type stint.job_traceparent,
  alter column tracestate     type stint.job_tracestate,
  alter column search         type stint.job_search,
  alter column options        type stint.job_options;

-- Every job there is, as before. The columns of live jobs are cast to what those of the others are: where the types differ,
-- the planner reads each table whole before it filters.
create view stint.jobs as
select 'live' as place, id, state, queue::text, kind::text, key, priority, attempt, max_attempts,
       crashes, epoch, version, created_at, run_at::timestamptz, started_at, null::timestamptz as finished_at,
       deadline_at::timestamptz, worker_id, correlation_id::text, traceparent::text, tracestate::text, parent_id, flow_id,
       search::text[], options::jsonb, null::text as reason, null::timestamptz as discarded_at, null::uuid as replaced_by,
       input, input_blob::text, null::jsonb as result, null::jsonb as error,
       progress, attempts_before, replaces, suspect, cancel_at
  from stint.job
union all
select 'finished', id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, finished_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       reason, null, null, input, input_blob, result, null, null, attempts_before, replaces, false, null
  from stint.finished
union all
select 'dead', id, 'dead', queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, died_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       reason, discarded_at, replaced_by, input, input_blob, null, error, progress, attempts_before, replaces,
       false, null
  from stint.dead;

alter domain stint.job_name add constraint job_name_check
  check (octet_length(value) <= 128 and value ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$') not valid;
-- From the year 2000 to 9999.
alter domain stint.job_time add constraint job_time_check
  check (value >= to_timestamp(946684800) and value < to_timestamp(253402300800)) not valid;
alter domain stint.job_blob add constraint job_blob_check
  check (octet_length(value) = 54 and value ~ '^inputs/[0-9-]*/[0-9a-f-]*$') not valid;
alter domain stint.job_correlation add constraint job_correlation_check check (octet_length(value) between 1 and 256) not valid;
alter domain stint.job_traceparent add constraint job_traceparent_check
  check (octet_length(value) = 55 and value ~ '^[0-9a-f-]*$') not valid;
alter domain stint.job_tracestate add constraint job_tracestate_check check (octet_length(value) between 1 and 512) not valid;
alter domain stint.job_search add constraint job_search_check check (value is null or stint.is_search(value)) not valid;
alter domain stint.job_options add constraint job_options_check check (value is null or stint.is_job_options(value)) not valid;

-- The key is checked by the table, because two partial indexes ask whether it is null, which through the view would be
-- asked of a cast. Numbers and the size of the input are not checked: every comparison here costs each statement that
-- writes the table about a microsecond (decision 28), and those who read them take any value.
alter table stint.job
  drop constraint job_is_live,
  add constraint job_in_bounds check (state < 'succeeded' and stint.is_key(key)) not valid;

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
    select attrelid::regclass as relation, attname as said_of, conname,
           replace(pg_get_expr(conbin, 0), 'VALUE', quote_ident(attname)) as rule
      from pg_constraint
      join pg_attribute
        on atttypid = contypid
       and attrelid = 'stint.job'::regclass
       and not attisdropped
     where contypid <> 0
       and not convalidated
     union all
    select conrelid::regclass, conname, conname, pg_get_expr(conbin, conrelid)
      from pg_constraint
     where conrelid in ('stint.job'::regclass, 'stint.schedule'::regclass, 'stint.queue'::regclass,
                        'stint.idempotency_key'::regclass)
       and not convalidated
  loop
    if door.relation = 'stint.job'::regclass then
      -- Without what may be the bad part, so that it can be stored, and looked at.
      execute format($q$
        with gone as (delete from stint.job where not (%s) returning *)
        insert into stint.dead (
          id, created_at, run_at, epoch, attempt, max_attempts, attempts_before, crashes, priority, version, queue, kind,
          input, reason, error)
        select id, created_at, created_at, epoch, attempt, coalesce(attempts_before, 0) + 5, attempts_before, crashes, 0, 1,
               left(queue, 128), left(kind, 128), input, 'permanent',
               jsonb_build_object(
                 'class', 'permanent', 'name', 'InvalidRow', 'causes', '[]'::jsonb,
                 'message', format('Its row is not allowed (%%s, %%s). A migration took it out of the queue.', %L, %L))
          from gone
        on conflict do nothing$q$, door.rule, door.said_of, door.conname);
    else
      execute format('delete from %s where not (%s)', door.relation, door.rule);
    end if;
  end loop;

  for door in
    select case when contypid <> 0 then 'alter domain ' || contypid::regtype else 'alter table ' || conrelid::regclass end as altered,
           conname
      from pg_constraint
     where connamespace = (select relnamespace from pg_class where oid = 'stint.job'::regclass)
       and not convalidated
  loop
    execute format('%s validate constraint %I', door.altered, door.conname);
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
