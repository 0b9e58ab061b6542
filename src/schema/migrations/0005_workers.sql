-- Workers: one lease per process, effects that happen once, and the work that one process does for all.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- One row for each start of a worker process; all its running jobs depend on this one lease.
--
-- A heartbeat rewrites the row; half of the page is left free, so that the new version stays on it and no index is
-- touched. Each sweep reads all rows, and with 1,000 workers the default share of dead rows would be too many.
create table stint.worker (
  id              uuid            not null,
  started_at      timestamptz     not null default stint.now(),
  lease_until     timestamptz     not null,
  lost_at         timestamptz,                                      -- live to lost, once
  renewed_at      timestamptz     not null default stint.now(),
  about           jsonb           not null default '{}',            -- host, pid, versions, queues, kinds
  rss_bytes       bigint,                                           -- its memory, at the last heartbeat
  claims          jsonb,                                            -- { ways, lanes }: of its claims, at the last heartbeat
  wanted          jsonb,                                            -- { state, reason }: what a person asked it to do
  death           text,                                             -- how its process ended, where that was observed
  -- The worker measures its clock by its heartbeats: the doctor knows only the clock of its own machine.
  clock_ahead_ms  double precision,                                 -- of the database's clock; below zero it is behind
  clock_error_ms  double precision,                                 -- half the round trip of that measurement
  constraint worker_pkey primary key (id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- What a person asked a worker to do; null for a worker without such an order. Not inlined: the planner would choose another plan
-- for the survey with every size of the table.
create function stint.wanted_of(of_worker uuid) returns jsonb
language plpgsql stable
as $$ begin return (select worker.wanted from stint.worker where worker.id = of_worker); end $$;

-- How a worker ended, in words: what was observed, or what can be said without that.
create function stint.death_of(worker uuid) returns text
language sql stable set search_path = pg_catalog, pg_temp
return (
  select coalesce(
           (select coalesce(ended.death, 'its lease ran out')
                   || coalesce(', with ' || ended.rss_bytes / 1048576 || ' MB of memory at its last heartbeat', '')
              from stint.worker as ended
             where ended.id = worker),
           'nothing is known of it'));

-- Effects that happen once: the key is taken in the transaction of the effect. Upkeep deletes expired rows in batches.
create table stint.effect (
  scope           text collate "C" not null,                        -- the kind of the job
  key             text collate "C" not null,
  job_id          uuid            not null,
  result          jsonb,
  created_at      timestamptz     not null default stint.now(),
  expires_at      timestamptz     not null,
  constraint effect_pkey primary key (scope, key)
) with (autovacuum_vacuum_scale_factor = 0.05);

create index effect_expiry on stint.effect (expires_at);

-- Which worker does the work that one process can do for all. It saves work and guarantees nothing: all that is done under
-- it may be done by two processes at once.
create table stint.leader (
  name            text collate "C" not null,
  holder          uuid,                                             -- a worker; null: free, any worker may take it
  term            bigint          not null,                         -- grows with every change
  since           timestamptz     not null default stint.now(),
  until           timestamptz     not null,
  about           jsonb           not null default '{}',            -- host, pid
  constraint leader_pkey primary key (name)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);

-- The last success and the last failure of each service that runs under a leader, for people.
create table stint.service (
  name            text collate "C" not null,
  last_ok_at      timestamptz,
  took_ms         integer,                                          -- the last successful run
  last_error      text,                                             -- null after a success
  last_error_at   timestamptz,
  constraint service_pkey primary key (name)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);

-- The last rebuild of each index, or the last try: at most one try a day, whichever worker leads.
create table stint.index_upkeep (
  name            text collate "C" not null,
  tried_at        timestamptz     not null,
  took_ms         integer,                                          -- null until the try has ended
  bytes_before    bigint          not null,
  bytes_after     bigint,                                           -- null unless it succeeded
  error           text,                                             -- null after a success
  constraint index_upkeep_pkey primary key (name)
);
