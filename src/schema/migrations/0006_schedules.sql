-- Schedules: rules by which jobs come into being, and each time that one fired, or did not, and why.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- All that a scheduler needs to fire it, whether it knows the kind or not. People change rows of this table seldom, and
-- schedulers once per fire.
create table stint.schedule (
  name            text collate "C" not null,
  kind            text collate "C" not null,
  queue           text collate "C" not null,
  spec            jsonb           not null,                         -- {type: cron | every | at, …}
  time_zone       text            not null default 'UTC',
  job             jsonb           not null,                         -- of its jobs: priority, attempts, key …, as enqueue reads them
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
  decided_to      timestamptz     not null default stint.now(),     -- whatever it names up to here has been decided
  next_fire_at    timestamptz,                                      -- the first time after that; null: none comes
  queued_fire_at  timestamptz,                                      -- waits for the job before it (overlap queue-one)
  turn            bigint          not null default 1,               -- grows with every change: who read an older row writes nothing
  failures        integer         not null default 0,
  last_error      text,
  retry_at        timestamptz,
  created_at      timestamptz     not null default stint.now(),
  updated_at      timestamptz     not null default stint.now(),     -- of the definition
  constraint schedule_pkey primary key (name),
  constraint schedule_source check (source in ('code', 'runtime')),
  constraint schedule_overlap check (overlap in ('allow', 'skip', 'queue-one', 'cancel-previous')),
  constraint schedule_missed check (missed in ('skip', 'once', 'all'))
);

create index schedule_due on stint.schedule (next_fire_at) where next_fire_at is not null;
create index schedule_queued on stint.schedule (name) where queued_fire_at is not null;

-- One row for each time: its key is what makes a second job impossible, however many processes schedule.
create table stint.fire (
  schedule        text collate "C" not null,
  fire_at         timestamptz     not null,
  outcome         text            not null,
  job_id          uuid,
  reason          text,
  at              timestamptz     not null default stint.now(),     -- when it was decided
  constraint fire_pkey primary key (schedule, fire_at),
  constraint fire_outcome check (outcome in ('fired', 'skipped', 'missed', 'queued')),
  constraint fire_has_job check ((outcome = 'fired') = (job_id is not null))
);

-- The jobs that a schedule made last: for whether one of them is still there.
create index fire_job on stint.fire (schedule, fire_at desc) where job_id is not null;
