-- Jobs: the hot table of live ones, history by day, dead letters, attempts, workers, and one view over them.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- The one clock. Inlined to statement_timestamp() by the planner, so it costs nothing and indexes may be compared
-- with it; the testing kit replaces it with a clock that tests move.
create function stint.now() returns timestamptz
language sql stable parallel safe
as 'select statement_timestamp()';

create type stint.job_state as enum (
  'scheduled', 'waiting', 'ready', 'running', 'retrying',   -- live: rows of stint.job
  'succeeded', 'cancelled',                                 -- rows of stint.finished
  'dead'                                                    -- rows of stint.dead
);

-- Live jobs only: small, cached, the one hot table. No foreign key, no trigger, no GIN; a column earns its place
-- by being needed to claim, run or settle. What few jobs use is null for the rest, which costs a bit each. Names and
-- keys are compared as bytes, whatever the database's locale: their order means nothing to people, and an index entry
-- costs a tenth less than with C.UTF-8.
create table stint.job (
  id              uuid            not null,                         -- UUIDv7, made by the producer
  created_at      timestamptz     not null default stint.now(),
  run_at          timestamptz     not null default stint.now(),
  state           stint.job_state not null default 'ready',
  epoch           integer         not null default 0,               -- grows with every claim, never goes back
  attempt         integer         not null default 0,
  max_attempts    integer         not null default 5,
  crashes         smallint        not null default 0,
  priority        smallint        not null default 0,               -- higher runs sooner
  version         smallint        not null default 1,               -- of the contract the input was written for
  queue           text collate "C" not null,
  kind            text collate "C" not null,
  key             text collate "C",
  input           jsonb,                                            -- null when it lies in a blob store
  -- while it runs
  started_at      timestamptz,
  worker_id       uuid,
  lease_id        uuid,                                             -- random per claim; null unless running
  -- where it is used
  unique_key      text collate "C",
  unique_until_start boolean,                                       -- the claim lets go of unique_key
  correlation_id  text,                                             -- null: the job's own id
  traceparent     text,
  tracestate      text,
  parent_id       uuid,
  flow_id         uuid,
  deadline_at     timestamptz,                                      -- not worth starting after
  search          text[],                                           -- `name:value`, at most 8
  input_blob      text,
  options         jsonb,                                            -- what differs from the contract: timeout, backoff
  constraint job_pkey primary key (id),
  constraint job_is_live check (state < 'succeeded'),
  constraint job_lease_while_running check ((lease_id is not null) = (state = 'running'))
);

create index job_ready on stint.job (queue, priority desc, run_at, id) where state = 'ready' and key is null;
create index job_ready_keyed on stint.job (queue, key, priority desc, run_at, id) where state = 'ready' and key is not null;
create index job_due on stint.job (run_at) where state in ('scheduled', 'retrying');
create index job_running on stint.job (worker_id) where state = 'running';
create unique index job_unique on stint.job (queue, unique_key) where unique_key is not null;

-- Succeeded and cancelled jobs, append-only, a partition a day, retention is DROP. No default partition: it would
-- forbid DETACH CONCURRENTLY.
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
  constraint finished_has_ended check (state in ('succeeded', 'cancelled'))
) partition by range (finished_at);

create index finished_id on stint.finished (id);
create index finished_correlation on stint.finished (correlation_id) where correlation_id is not null;

-- Kept until replayed or discarded. Unlike the hot table it is small and read by people, so it may have indexes.
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
  constraint dead_pkey primary key (id),
  constraint dead_reason check (reason in ('exhausted', 'permanent', 'quarantined', 'expired', 'discarded-contract'))
);

create index dead_fingerprint on stint.dead (fingerprint, id);
create index dead_queue on stint.dead (queue, id);
create index dead_kind on stint.dead (kind, id);
create index dead_key on stint.dead (key, id) where key is not null;
create index dead_search on stint.dead using gin (search) where search is not null;

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
  fingerprint     text
) partition by range (ended_at);

create index attempt_job on stint.attempt (job_id, epoch);

-- One row for each boot of a worker process; all its running jobs live by this one lease.
create table stint.worker (
  id              uuid            not null,
  started_at      timestamptz     not null default stint.now(),
  lease_until     timestamptz     not null,
  lost_at         timestamptz,                                      -- live to lost, once
  constraint worker_pkey primary key (id)
);

-- A key taken for a time: a producer's idempotency key, or a uniqueness that outlives its job.
create table stint.idempotency_key (
  scope           text collate "C" not null,
  key             text collate "C" not null,
  job_id          uuid            not null,
  digest          bytea           not null,                         -- of the input it was taken with
  created_at      timestamptz     not null default stint.now(),
  expires_at      timestamptz     not null,
  constraint idempotency_key_pkey primary key (scope, key)
);

create index idempotency_key_expiry on stint.idempotency_key (expires_at);

-- Which blob belongs to which job, written with the job: what is in the store and not in here was never committed.
create table stint.blob (
  key             text collate "C" not null,
  job_id          uuid            not null,
  created_at      timestamptz     not null default stint.now(),
  constraint blob_pkey primary key (key)
);

-- Every job there is. `place` is the same for a whole table, so a reader that names it skips the others.
create view stint.jobs as
select 'live' as place, id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, null::timestamptz as finished_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       null::text as reason, null::timestamptz as discarded_at, null::uuid as replaced_by,
       input, input_blob, null::jsonb as result, null::jsonb as error
  from stint.job
union all
select 'finished', id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, finished_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       reason, null, null, input, input_blob, result, null
  from stint.finished
union all
select 'dead', id, 'dead', queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, died_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       reason, discarded_at, replaced_by, input, input_blob, null, error
  from stint.dead;

-- Makes the partitions of `finished` and `attempt` for yesterday to `days` ahead. Safe to call from many sessions
-- at once: they take turns, and one that exists is left alone.
create function stint.ensure_partitions(days integer default 14) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  made integer := 0;
  parent text;
  day date;
  name text;
begin
  perform pg_advisory_xact_lock(hashtextextended('stint.ensure_partitions', 0));
  foreach parent in array array['finished', 'attempt'] loop
    for ahead in -1 .. days loop
      day := (stint.now() at time zone 'utc')::date + ahead;
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      continue when to_regclass('stint.' || name) is not null;
      execute format(
        'create table stint.%I partition of stint.%I for values from (%L) to (%L)',
        name, parent, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
      made := made + 1;
    end loop;
  end loop;
  return made;
end
$$;

select stint.ensure_partitions();
