-- What people do to jobs: who did it, and actions over many of them.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- Every act of a person, and every attempt at one that was refused. Written in the transaction of the act; nobody but
-- the owner changes or deletes a row.
create table stint.audit (
  id              uuid            not null,                         -- UUIDv7: in the order of acting
  at              timestamptz     not null default stint.now(),
  actor           text            not null,
  role            text,                                             -- null where there are no roles: a command line, code
  origin          text            not null,
  action          text            not null,                         -- job.replay, operation.start, schedule.pause …
  target          text            not null,                         -- a job, schedule, queue, error group or operation
  outcome         text            not null default 'done',
  reason          text,
  before          jsonb,                                            -- what it was, and what it became; never an input
  after           jsonb,
  operation_id    uuid,
  request_id      text,
  constraint audit_pkey primary key (id),
  constraint audit_origin check (origin in ('api', 'dashboard', 'cli', 'code')),
  constraint audit_outcome check (outcome in ('done', 'refused'))
);
create index audit_target on stint.audit (target, id);
create index audit_actor on stint.audit (actor, id);

-- One action over many jobs. A Stint job executes it: first it notes all that match, then it acts in batches, each of them
-- one transaction that acts and notes what became of each job, so that a crash resumes and nothing is acted on twice.
create table stint.operation (
  id              uuid            not null,
  intent_id       uuid,                                             -- of the request: one that is sent again starts nothing
  action          text            not null,
  filter          text,                                             -- null where ids are given
  as_of           timestamptz     not null,                         -- what matches only later is not taken
  settings        jsonb           not null,                         -- ids, priority, canary, pace, stopIf, max
  state           text            not null default 'pending',
  paused_in       text,                                             -- the state that it goes on in
  job_id          uuid            not null,                         -- the Stint job that executes it
  noted           integer         not null default 0,               -- matches that are in operation_job
  cursor          uuid,                                             -- down to here matches are noted
  matched         integer,                                          -- null until all of them are
  acted           integer         not null default 0,
  skipped         integer         not null default 0,
  failed          integer         not null default 0,
  skipped_by      jsonb           not null default '{}',            -- reason to jobs
  canary_at       timestamptz,                                      -- since when it waits for the canary
  canary_result   jsonb,
  note            text,                                             -- why it stopped or paused
  reason          text            not null,
  actor           text            not null,
  role            text,
  origin          text            not null,
  created_at      timestamptz     not null default stint.now(),
  started_at      timestamptz,
  finished_at     timestamptz,
  constraint operation_pkey primary key (id),
  constraint operation_state check (state in ('pending', 'canary', 'ramping', 'paused', 'stopped', 'aborted', 'done'))
);
alter table stint.operation set (fillfactor = 50);
create unique index operation_intent on stint.operation (intent_id) where intent_id is not null;

-- The jobs that an operation is about, and what became of each.
create table stint.operation_job (
  operation_id    uuid            not null,
  id              uuid            not null,
  is_canary       boolean         not null default false,
  outcome         text,                                             -- null: untouched
  reason          text,                                             -- why it was skipped or failed
  epoch           integer         not null default 0,               -- of the job when it was acted on
  fingerprint     text,                                             -- what it had died of
  constraint operation_job_pkey primary key (operation_id, id),
  constraint operation_job_outcome check (outcome in ('acted', 'skipped', 'failed'))
);
create index operation_job_untouched on stint.operation_job (operation_id, id) where outcome is null;
create index operation_job_canary on stint.operation_job (operation_id, id) where is_canary;

-- What a POST with an Idempotency-Key was answered, so that its repeat is answered the same.
create table stint.http_reply (
  scope           text            not null,                         -- actor and route
  key             text            not null,
  digest          bytea           not null,                         -- of the request's body
  status          smallint,                                         -- null while the first one is under way
  headers         jsonb,
  body            text,
  created_at      timestamptz     not null default stint.now(),
  expires_at      timestamptz     not null,
  constraint http_reply_pkey primary key (scope, key)
);
create index http_reply_expiry on stint.http_reply (expires_at);
