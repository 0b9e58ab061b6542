-- Schedules: the rules that make jobs, and each time that one fired, or did not fire, and why.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- All that a scheduler needs to fire a schedule, whether it has code for the kind or not. People change a row seldom, a
-- scheduler changes it once per fire, index entries included, and every scheduler looks for due rows every few seconds. By
-- default 10,000 schedules would wait for 2,050 dead rows; this table is vacuumed earlier.
create table stint.schedule (
  name            text collate "C" not null,
  kind            text collate "C" not null,
  queue           text collate "C" not null,
  spec            jsonb           not null,                         -- {type: cron | every | at, …}
  time_zone       text            not null default 'UTC',
  job             jsonb           not null,                         -- options of its jobs, as enqueue reads them: priority …
  input           jsonb,                                            -- null when code makes it
  input_from_code boolean         not null default false,           -- only workers that have the code can fire it
  overlap         text            not null default 'allow',
  missed          text            not null default 'once',
  missed_limit    integer         not null default 100,
  missed_window_ms bigint         not null default 86400000,
  jitter_ms       bigint          not null default 0,
  starts_at       timestamptz,
  ends_at         timestamptz,
  source          text            not null,                         -- code: synchronised by workers; runtime: set by people
  app_version     text,                                             -- of the worker that synchronised it
  digest          text            not null,                         -- of the definition
  paused_at       timestamptz,
  paused_until    timestamptz,                                      -- null with paused_at: until it is resumed
  pause_reason    text,
  decided_to      timestamptz     not null default stint.now(),     -- every fire up to here is decided
  next_fire_at    timestamptz,                                      -- the first fire after that; null: there is none
  queued_fire_at  timestamptz,                                      -- waits for the job before it (overlap queue-one)
  turn            bigint          not null default 1,               -- grows with every change: a write by an older turn changes nothing
  failures        integer         not null default 0,
  last_error      text,
  retry_at        timestamptz,
  created_at      timestamptz     not null default stint.now(),
  updated_at      timestamptz     not null default stint.now(),     -- of the definition
  -- How long fires are kept. A fire that was pruned is never made up for: it is not known whether it happened.
  keep_fires_ms   bigint          not null default 2592000000,      -- 30 days
  forgotten_to    timestamptz,                                      -- fires up to here were pruned, by a shorter keep_fires_ms
  constraint schedule_pkey primary key (name),
  constraint schedule_source check (source in ('code', 'runtime')),
  constraint schedule_overlap check (overlap in ('allow', 'skip', 'queue-one', 'cancel-previous')),
  constraint schedule_missed check (missed in ('skip', 'once', 'all')),
  constraint schedule_names check (
    octet_length(name) <= 128 and name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'
    and octet_length(kind) <= 128 and kind ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'
    and octet_length(queue) <= 128 and queue ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'),
  constraint schedule_in_bounds check (
    missed_limit between 0 and 1000
    and missed_window_ms between 0 and 31622400000         -- 366 days
    and jitter_ms between 0 and 86400000                   -- a day
    and keep_fires_ms between 0 and 316224000000           -- 3,660 days
    and octet_length(time_zone) between 1 and 64
    and pg_column_size(spec) <= 65536
    and pg_column_size(job) <= 65536
    and (input is null or pg_column_size(input) <= 2097152))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 100);

create index schedule_due on stint.schedule (next_fire_at) where next_fire_at is not null;
create index schedule_queued on stint.schedule (name) where queued_fire_at is not null;

-- One row for each fire. Its primary key makes a second job impossible, however many processes schedule. Upkeep deletes old
-- rows in batches.
create table stint.fire (
  schedule        text collate "C" not null,
  fire_at         timestamptz     not null,
  outcome         text            not null,
  job_id          uuid,
  reason          text,
  at              timestamptz     not null default stint.now(),     -- when it was decided
  constraint fire_pkey primary key (schedule, fire_at),
  constraint fire_outcome check (outcome in ('fired', 'skipped', 'missed', 'queued', 'asked')),
  constraint fire_has_job check ((outcome in ('fired', 'asked')) = (job_id is not null))
) with (autovacuum_vacuum_scale_factor = 0.05);

-- The last jobs of a schedule: is one of them still live?
create index fire_job on stint.fire (schedule, fire_at desc) where job_id is not null;

-- The fires that a person asked for and that wait for a worker with the code of their input, in the order of asking. Such a
-- fire has the id of its job before there is the job.
create index fire_asked on stint.fire (schedule, job_id) where outcome = 'asked';
