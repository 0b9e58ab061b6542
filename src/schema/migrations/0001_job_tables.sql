-- Jobs: the hot table of live jobs, history by day, dead letters, attempts, log lines, and one view over all jobs.
--
-- A finished job leaves stint.job in the statement that settles it, so the hot table stays small however much history is
-- kept. The database checks every row of stint.job: a login with the role of a producer can write any value that a column
-- takes, and one bad row must not stop a queue or break the console (decision 28).
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- The one clock. The planner inlines it to statement_timestamp(), so it costs nothing and an index can be compared with
-- it. The testing kit replaces it by a clock that tests move.
create function stint.now() returns timestamptz
language sql stable parallel safe
as 'select statement_timestamp()';

create type stint.job_state as enum (
  'scheduled', 'waiting', 'ready', 'running', 'retrying',   -- live: rows of stint.job
  'succeeded', 'cancelled',                                 -- rows of stint.finished
  'dead'                                                    -- rows of stint.dead
);

-- The values that a producer may write, with the limits of the library (src/jobs/new, src/core/names.ts).
--
-- They are domains, because PostgreSQL plans the checks of a table anew for every statement that writes it, claims
-- included (decision 28). The checks of a domain are planned once per session, and an UPDATE that does not set the column
-- skips them. Values that Stint writes later fit as well: a retry, a snooze or a replay is at most ten years ahead.

create domain stint.job_name as text collate "C"
  constraint job_name_check check (octet_length(value) <= 128 and value ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$');

-- From the year 2000 to 9999.
create domain stint.job_time as timestamptz
  constraint job_time_check check (value >= to_timestamp(946684800) and value < to_timestamp(253402300800));

create domain stint.job_blob as text
  constraint job_blob_check check (octet_length(value) = 54 and value ~ '^inputs/[0-9-]*/[0-9a-f-]*$');

create domain stint.job_correlation as text
  constraint job_correlation_check check (octet_length(value) between 1 and 256);

create domain stint.job_traceparent as text
  constraint job_traceparent_check check (octet_length(value) = 55 and value ~ '^[0-9a-f-]*$');

create domain stint.job_tracestate as text
  constraint job_tracestate_check check (octet_length(value) between 1 and 512);

-- Search words: 8 of the producer, and one of the schedule that made the job. A function, because an expression inside
-- the domain is prepared for every statement that writes the table; this one is called only for a value that is not null.
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

create domain stint.job_search as text[]
  constraint job_search_check check (value is null or stint.is_search(value));

create function stint.is_job_options(options jsonb) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(options) <> 'object' or options - array['timeoutMs', 'crashLimit', 'fireAt', 'cost', 'ordered'] <> '{}' then
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
     and coalesce(octet_length(options ->> 'fireAt') <= 24 and options ->> 'fireAt' ~ '^[0-9T:.-]*Z$', true)
     and coalesce(options ->> 'cost' ~ '^[1-9][0-9]{0,8}$' and jsonb_typeof(options -> 'cost') = 'number', true)
     and coalesce(options ->> 'ordered' in ('hold', 'pass'), not options ? 'ordered');
end
$$;

create domain stint.job_options as jsonb
  constraint job_options_check check (value is null or stint.is_job_options(value));

-- Strict: PostgreSQL does not call it for a job without a key.
create function stint.is_key(key text) returns boolean
language plpgsql immutable strict set search_path = pg_catalog, pg_temp
as $$
begin
  return octet_length(key) between 1 and 512;
end
$$;

-- Live jobs only: small, cached, the one hot table. It has no foreign key, no trigger and no GIN index. A column is here
-- because a claim, an attempt or a settle needs it. A column that few jobs use is null for the others, which costs one bit.
--
-- Queue, kind and key are compared as bytes, in any locale of the database: their order has no meaning for people,
-- and an index entry costs a tenth less than with C.UTF-8.
--
-- Every job leaves at least three dead rows here, and a claim steps over those at the head of its queue. With the default
-- settings a table of 100,000 jobs waits for 20,000 dead rows and is then vacuumed with pauses. This table is small and
-- in memory, so autovacuum starts early and does not pause.
create table stint.job (
  id              uuid            not null,                         -- UUIDv7, made by the producer
  created_at      timestamptz     not null default stint.now(),
  run_at          stint.job_time  not null default stint.now(),
  state           stint.job_state not null default 'ready',
  epoch           integer         not null default 0,               -- grows with every claim, never goes back
  attempt         integer         not null default 0,
  max_attempts    integer         not null default 5,
  crashes         smallint        not null default 0,
  priority        smallint        not null default 0,               -- higher runs sooner
  version         smallint        not null default 1,               -- of the contract that the input was written for
  queue           stint.job_name  not null,
  kind            stint.job_name  not null,
  key             text collate "C",
  input           jsonb,                                            -- null when the input is in a blob store
  -- while the job runs
  started_at      timestamptz,
  worker_id       uuid,
  lease_id        uuid,                                             -- random per claim; null unless running
  claim_seq       bigint,                                           -- its place among the claims under limits
  -- for the jobs that use it
  unique_key      text collate "C",
  unique_until_start boolean,                                       -- the claim clears unique_key
  correlation_id  stint.job_correlation,                            -- null: the job's own id
  traceparent     stint.job_traceparent,
  tracestate      stint.job_tracestate,
  parent_id       uuid,
  flow_id         uuid,
  deadline_at     stint.job_time,                                   -- do not start the job after this
  search          stint.job_search,                                 -- `name:value`
  input_blob      stint.job_blob,
  options         stint.job_options,                                -- where the job differs from its contract: timeoutMs …
  progress        jsonb,                                            -- { percent, note, at }
  failures        jsonb,                                            -- failures by class: { "timeout": 2 }
  attempts_before integer,                                          -- attempts before the last replay
  replaces        uuid,                                             -- the dead letter that was edited into this job
  -- The lease under which the handler certainly began. A job that its worker only held in advance when the worker was lost
  -- cannot have caused the crash. Readers compare it with lease_id, so it is never cleared.
  begun_lease     uuid,
  -- A lost worker held this job, and the job may be the cause: it runs alone until that is known.
  suspect         boolean         not null default false,
  cancel_at       timestamptz,                                      -- when the running job was asked to stop
  cancel_reason   text,
  constraint job_pkey primary key (id),
  -- The key is checked by the table and not by a domain: two partial indexes test whether it is null, and through the view
  -- they would see a cast. Numbers and the size of the input are not checked, because every comparison here costs each
  -- statement that writes the table about a microsecond (decision 28); their readers accept any value.
  constraint job_in_bounds check (state < 'succeeded' and stint.is_key(key)),
  constraint job_lease_while_running check ((lease_id is not null) = (state = 'running'))
) with (
  vacuum_truncate = off,                                            -- see "empty pages" below
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- Statistics of a queue's table are always out of date: they were taken while it was full of scheduled jobs that are ready
-- now, or while it was empty and a million jobs came since. With such figures the planner collects and sorts the whole
-- queue to claim its first few jobs. Without statistics it takes each of these columns for selective, and chooses the plan
-- that is right at every size: read the index made for the question, in its order, and stop.
alter table stint.job
  alter column state     set statistics 0,
  alter column queue     set statistics 0,
  alter column priority  set statistics 0,
  alter column run_at    set statistics 0,
  alter column version   set statistics 0,
  alter column key       set statistics 0,
  alter column worker_id set statistics 0,
  alter column lease_id  set statistics 0,
  alter column claim_seq set statistics 0,
  alter column options   set statistics 0;

create index job_ready on stint.job (queue, priority desc, run_at, id) where state = 'ready' and key is null;
create index job_ready_keyed on stint.job (queue, key, priority desc, run_at, id) where state = 'ready' and key is not null;
-- By queue: a worker asks for the due jobs of its own queues, and by time alone it would read those of all queues.
create index job_due on stint.job (queue, run_at) where state in ('scheduled', 'retrying');
create index job_waiting on stint.job (queue, run_at) where state = 'waiting';
create index job_running on stint.job (worker_id) where state = 'running';
-- The jobs that run under limits, in the order of their claims; and the live jobs that run in order, by key.
create index job_running_limited on stint.job (queue, claim_seq) where state = 'running' and claim_seq is not null;
create index job_ordered on stint.job (queue, key, created_at, id) where options ? 'ordered';
create unique index job_unique on stint.job (queue, unique_key) where unique_key is not null;

-- Empty pages. A plan made while the table has next to no pages is a scan of the whole table, and a session keeps that
-- plan after the table has grown. So the table has 100 pages from the start, and vacuum does not give them back
-- (vacuum_truncate above; to truncate, vacuum would also need an exclusive lock). Four of these rows fill a page. They are
-- `waiting`, because in that index their equal entries fill one page; in job_ready they would fill four.
insert into stint.job (id, state, queue, kind, input)
select gen_random_uuid(), 'waiting', '_', '_', to_jsonb(repeat('-', 1900))
  from generate_series(1, 400);
delete from stint.job;

-- Succeeded and cancelled jobs, append-only, one partition per day; retention drops whole days. There is no default
-- partition: it would forbid DETACH CONCURRENTLY.
create table stint.finished (
  id              uuid            not null,
  created_at      timestamptz     not null,
  run_at          timestamptz     not null,
  started_at      timestamptz,
  finished_at     timestamptz     not null default stint.now(),
  state           stint.job_state not null,
  epoch           integer         not null,
  attempt         integer         not null,
  max_attempts    integer         not null,
  crashes         smallint        not null,
  priority        smallint        not null,
  version         smallint        not null,
  queue           text collate "C" not null,
  kind            text collate "C" not null,
  key             text collate "C",
  worker_id       uuid,
  lease_id        uuid,                                             -- the lease that settled it
  correlation_id  text,
  traceparent     text,
  tracestate      text,
  parent_id       uuid,
  flow_id         uuid,
  deadline_at     timestamptz,
  search          text[],
  options         jsonb,
  input           jsonb,
  input_blob      text,
  result          jsonb,
  reason          text,                                             -- why it was cancelled
  attempts_before integer,
  replaces        uuid,
  constraint finished_has_ended check (state in ('succeeded', 'cancelled'))
) partition by range (finished_at);

create index finished_id on stint.finished (id);
create index finished_correlation on stint.finished (correlation_id) where correlation_id is not null;

-- Dead letters, kept until they are replayed or discarded. The table is small and people read it, so it may have many
-- indexes. Upkeep deletes from it in batches; it is vacuumed early, so that readers do not step over the dead rows.
create table stint.dead (
  id              uuid            not null,
  created_at      timestamptz     not null,
  run_at          timestamptz     not null,
  started_at      timestamptz,
  died_at         timestamptz     not null default stint.now(),
  epoch           integer         not null,
  attempt         integer         not null,
  max_attempts    integer         not null,
  crashes         smallint        not null,
  priority        smallint        not null,
  version         smallint        not null,
  queue           text collate "C" not null,
  kind            text collate "C" not null,
  key             text collate "C",
  worker_id       uuid,
  lease_id        uuid,
  correlation_id  text,
  traceparent     text,
  tracestate      text,
  parent_id       uuid,
  flow_id         uuid,
  deadline_at     timestamptz,
  search          text[],
  options         jsonb,
  input           jsonb,
  input_blob      text,
  reason          text            not null,
  error           jsonb,
  fingerprint     text,
  discarded_at    timestamptz,                                      -- in the trash since
  replaced_by     uuid,                                             -- the job that an edit made of it
  progress        jsonb,
  failures        jsonb,
  attempts_before integer,
  replaces        uuid,
  unique_key      text collate "C",                                 -- a replay takes it again
  unique_until_start boolean,
  constraint dead_pkey primary key (id),
  -- invalid-row: a row that no worker could start. A login that may insert rows can write what no contract allows; such a
  -- job dies alone, and its error names the column.
  constraint dead_reason check (
    reason in ('exhausted', 'permanent', 'quarantined', 'expired', 'discarded-contract', 'invalid-row'))
) with (autovacuum_vacuum_scale_factor = 0.05);

create index dead_fingerprint on stint.dead (fingerprint, id);
create index dead_queue on stint.dead (queue, id);
create index dead_kind on stint.dead (kind, id);
create index dead_key on stint.dead (key, id) where key is not null;
create index dead_search on stint.dead using gin (search) where search is not null;
-- Upkeep finds the dead letters to delete by these. The age of an edited one is that of the job it became, whose id says
-- when it was made.
create index dead_died on stint.dead (queue, died_at);
create index dead_discarded on stint.dead (discarded_at) where discarded_at is not null;
create index dead_replaced on stint.dead (replaced_by) where replaced_by is not null;

-- One row for each attempt that did not simply succeed, by day. Keyed by epoch: `attempt` repeats after a crash.
create table stint.attempt (
  job_id          uuid            not null,
  epoch           integer         not null,
  attempt         integer         not null,
  outcome         text            not null,
  worker_id       uuid,
  lease_id        uuid,
  started_at      timestamptz,
  ended_at        timestamptz     not null default stint.now(),
  error           jsonb,
  fingerprint     text,
  reason          text                                              -- why it was snoozed, released, cancelled, lost
) partition by range (ended_at);

create index attempt_job on stint.attempt (job_id, epoch);
-- After a lost reply: did this lease settle this job?
create index attempt_lease on stint.attempt (lease_id, job_id);

-- Log lines of handlers, by attempt and day.
create table stint.log (
  job_id          uuid            not null,
  epoch           integer         not null,
  line            integer         not null,                         -- counts up within the attempt
  at              timestamptz     not null default stint.now(),
  level           text            not null,
  message         text            not null,
  data            jsonb
) partition by range (at);

create index log_job on stint.log (job_id, epoch, line);

-- Which blob belongs to which job, written in the transaction that stores the job: a blob of the store without a row here
-- was never committed. Upkeep deletes rows in batches.
create table stint.blob (
  key             text collate "C" not null,
  job_id          uuid            not null,
  created_at      timestamptz     not null default stint.now(),
  constraint blob_pkey primary key (key)
) with (autovacuum_vacuum_scale_factor = 0.05);

-- All jobs, live or ended. `place` is the same for a whole table, so a query that names it skips the other tables.
--
-- The columns of live jobs are cast to the types of the other tables: where the types of a union differ, the planner reads
-- each table whole before it filters.
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
