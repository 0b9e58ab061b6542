-- Steps, signals and places in a flow: what a job has of them, and the records of its steps.
--
-- A plain job has null in every new column. A record of stint.step says what a call of a handler's context returned, so that
-- another attempt does not make the call again (src/worker/attempt/steps has the essay).
--
-- Lock: ACCESS EXCLUSIVE on stint.job, stint.finished and stint.dead for a moment; the columns are added without a rewrite.
-- SHARE on them for their new indexes: 0.2 s for a million live jobs, and seconds for large histories, where settles wait.
-- breaking: no

alter table stint.job
  add column node   smallint,                                       -- its node in its flow
  add column member integer,                                        -- its place in that node; null if no job reads its result
  -- What a waiting job waits for: { signals: [{ name, match }], flows: { id: "ended" | "dead" | "failed" }, jobs: [id], sleep: true,
  -- parked: { reason, tries } }. A claim leaves it as it is, so it says nothing about a job that does not wait.
  add column waits  jsonb;

alter table stint.job
  alter column flow_id set statistics 0,
  alter column node    set statistics 0;

alter table stint.finished
  add column node   smallint,
  add column member integer,
  add column steps  jsonb;                                          -- for people, at most 64 KiB

alter table stint.dead
  add column node   smallint,
  add column member integer;

create index job_flow on stint.job (flow_id, node) where flow_id is not null;
create index finished_flow on stint.finished (flow_id, node) where flow_id is not null;
create index dead_flow on stint.dead (flow_id, node) where flow_id is not null;

-- What the calls of a handler's context returned. A call is known by its name and by how many calls of that name came before
-- it in the attempt. Deleted when the job succeeds or is cancelled; a dead letter keeps its records for a replay.
create table stint.step (
  job_id      uuid             not null,
  name        text collate "C" not null,
  n           integer          not null,                            -- 0 for the first call of this name
  seq         integer          not null,                            -- the order in which they were recorded last
  type        text             not null,                            -- step, tx, each, sleep, signal, job, spawn, version
  state       text             not null,                            -- open: it waits or is not complete; done; failed
  epoch       integer          not null,                            -- of the attempt that wrote it
  tries       smallint         not null default 1,
  beside      boolean          not null default false,              -- another call was under way when it began
  started_at  timestamptz,
  ended_at    timestamptz,
  until       timestamptz,                                          -- when its wait is over
  result      jsonb,
  result_blob text,
  error       jsonb,
  constraint step_pkey primary key (job_id, name, n),
  constraint step_in_bounds check (octet_length(name) between 1 and 256 and n between 0 and 100000
                                   and state in ('open', 'done', 'failed'))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Messages to jobs. One is kept until its job takes it or ends.
create table stint.signal (
  id       uuid             not null,                               -- UUIDv7: in the order in which they were sent
  job_id   uuid             not null,
  name     text collate "C" not null,
  key      text collate "C",                                        -- a second one with this key is a duplicate
  payload  jsonb            not null,
  sent_at  timestamptz      not null default stint.now(),
  sent_by  text,
  taken_by integer,                                                 -- the epoch that took it
  constraint signal_pkey primary key (id),
  constraint signal_in_bounds check (octet_length(name) between 1 and 128 and octet_length(key) between 1 and 512
                                     and octet_length(sent_by) <= 512)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index signal_job on stint.signal (job_id, name, id);
create unique index signal_key on stint.signal (job_id, name, key) where key is not null;

-- The new columns at the end: a view cannot be replaced in another order.
create or replace view stint.jobs as
select 'live' as place, id, state, queue::text, kind::text, key, priority, attempt, max_attempts,
       crashes, epoch, version, created_at, run_at::timestamptz, started_at, null::timestamptz as finished_at,
       deadline_at::timestamptz, worker_id, correlation_id::text, traceparent::text, tracestate::text, parent_id, flow_id,
       search::text[], options::jsonb, null::text as reason, null::timestamptz as discarded_at, null::uuid as replaced_by,
       input, input_blob::text, null::jsonb as result, null::jsonb as error,
       progress, attempts_before, replaces, suspect, cancel_at, node, member, waits, null::jsonb as steps
  from stint.job
union all
select 'finished', id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, finished_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       reason, null, null, input, input_blob, result, null, null, attempts_before, replaces, false, null,
       node, member, null, steps
  from stint.finished
union all
select 'dead', id, 'dead', queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, died_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       reason, discarded_at, replaced_by, input, input_blob, null, error, progress, attempts_before, replaces,
       false, null, node, member, null, null
  from stint.dead;
