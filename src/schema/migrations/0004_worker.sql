-- What workers need: the facts of a worker, progress, failures by class, effects that happen once, lines of log,
-- and due jobs found queue by queue.
--
-- Lock: access exclusive on job, finished, dead, attempt and worker, each for the moment it takes to add columns that
-- are null (nothing is rewritten). The new index of due jobs is built under a lock that keeps writers out of `job`:
-- before workers exist there is nothing to wait for.
-- breaking: no

-- A worker asks for the due jobs of its own queues; by time alone it would look through everybody else's.
drop index stint.job_due;
create index job_due on stint.job (queue, run_at) where state in ('scheduled', 'retrying');
-- The one live state without an index; nobody could say how many wait in a queue.
create index job_waiting on stint.job (queue, run_at) where state = 'waiting';

alter table stint.job
  add column progress        jsonb,                                 -- { percent, note, at }
  add column failures        jsonb,                                 -- how many of each class: { "timeout": 2 }
  add column attempts_before integer,                               -- attempts before the last replay
  add column replaces        uuid;                                  -- the dead letter that was edited into this job

alter table stint.finished
  add column attempts_before integer,
  add column replaces        uuid;

alter table stint.dead
  add column progress        jsonb,
  add column failures        jsonb,
  add column attempts_before integer,
  add column replaces        uuid,
  add column unique_key      text collate "C",                      -- taken again by a replay
  add column unique_until_start boolean;

alter table stint.attempt
  add column reason          text;                                  -- why it was snoozed, released, cancelled, lost

-- Found again after a lost reply: did this lease settle this job?
create index attempt_lease on stint.attempt (lease_id, job_id);

-- A heartbeat rewrites the row; room on its page keeps that from touching the index.
alter table stint.worker
  add column renewed_at      timestamptz not null default stint.now(),
  add column about           jsonb       not null default '{}';     -- host, pid, versions, queues, kinds
alter table stint.worker set (fillfactor = 50);

-- Effects that happen once: the key is taken in the transaction of what was done.
create table stint.effect (
  scope           text collate "C" not null,                        -- the kind of the job
  key             text collate "C" not null,
  job_id          uuid            not null,
  result          jsonb,
  created_at      timestamptz     not null default stint.now(),
  expires_at      timestamptz     not null,
  constraint effect_pkey primary key (scope, key)
);

create index effect_expiry on stint.effect (expires_at);

-- What handlers logged, by attempt and day.
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

-- Makes the partitions of `finished`, `attempt` and `log` for yesterday to `days` ahead. Safe to call from many
-- sessions at once: they take turns, and one that exists is left alone.
create or replace function stint.ensure_partitions(days integer default 14) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  made integer := 0;
  parent text;
  day date;
  name text;
begin
  perform pg_advisory_xact_lock(hashtextextended('stint.ensure_partitions', 0));
  foreach parent in array array['finished', 'attempt', 'log'] loop
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

create or replace view stint.jobs as
select 'live' as place, id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, null::timestamptz as finished_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       null::text as reason, null::timestamptz as discarded_at, null::uuid as replaced_by,
       input, input_blob, null::jsonb as result, null::jsonb as error,
       progress, attempts_before, replaces
  from stint.job
union all
select 'finished', id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, finished_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       reason, null, null, input, input_blob, result, null, null, attempts_before, replaces
  from stint.finished
union all
select 'dead', id, 'dead', queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, died_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       reason, discarded_at, replaced_by, input, input_blob, null, error, progress, attempts_before, replaces
  from stint.dead;
