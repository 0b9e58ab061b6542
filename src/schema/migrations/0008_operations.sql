-- What people do: the audit, actions over many jobs, and what the consoles share.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- Every action of a person, and every refused try. Written in the transaction of the action; only the owner changes or
-- deletes a row. The actor is what the console says, the login is what the database knows.
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
  before          jsonb,                                            -- the target before and after; never an input
  after           jsonb,
  operation_id    uuid,
  request_id      text,
  login           text,
  constraint audit_pkey primary key (id),
  constraint audit_origin check (origin in ('api', 'dashboard', 'cli', 'code')),
  constraint audit_outcome check (outcome in ('done', 'refused'))
);

create index audit_target on stint.audit (target, id);
create index audit_actor on stint.audit (actor, id);
create index audit_at on stint.audit (at);

-- Writes an audit row, with the time and the login of the database. An entry that is sent again is stored once.
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

-- How long the audit is kept, which only the owner sets. One row.
create table stint.retention (
  id              boolean         not null default true,
  audit           interval        not null default interval '400 days',
  constraint retention_pkey primary key (id),
  constraint retention_one check (id),
  constraint retention_audit check (audit between interval '1 day' and interval '36525 days')
);

insert into stint.retention default values;

-- Removes the oldest audit rows that are past their retention. A caller can only say "now".
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

-- One action over many jobs. A Stint job executes it: first it notes all jobs that match, then it acts in batches. A batch
-- is one transaction that acts and notes the outcome of each job, so that a crash resumes and no job is acted on twice.
create table stint.operation (
  id              uuid            not null,
  intent_id       uuid,                                             -- of the request: a repeated request starts nothing
  action          text            not null,
  filter          text,                                             -- null where ids are given
  as_of           timestamptz     not null,                         -- jobs that match only later are not taken
  settings        jsonb           not null,                         -- ids, priority, canary, pace, stopIf, max
  state           text            not null default 'pending',
  paused_in       text,                                             -- the state in which it continues
  job_id          uuid            not null,                         -- the Stint job that executes it
  noted           integer         not null default 0,               -- matches that are in operation_job
  cursor          uuid,                                             -- matches are noted down to here
  matched         integer,                                          -- null until all matches are noted
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
  fates           jsonb,                                            -- fate to jobs; null where they are not followed
  acted_at        timestamptz,                                      -- when it last acted on a job
  constraint operation_pkey primary key (id),
  constraint operation_state check (state in ('pending', 'canary', 'ramping', 'paused', 'stopped', 'aborted', 'done'))
) with (fillfactor = 50);

create unique index operation_intent on stint.operation (intent_id) where intent_id is not null;

-- The jobs of an operation, and the outcome of each.
create table stint.operation_job (
  operation_id    uuid            not null,
  id              uuid            not null,
  is_canary       boolean         not null default false,
  outcome         text,                                             -- null: untouched
  reason          text,                                             -- why it was skipped or failed
  epoch           integer         not null default 0,               -- of the job when the operation acted on it
  fingerprint     text,                                             -- of the error that the job had died of
  fate            text,                                             -- of a job that was replayed; null: not followed
  constraint operation_job_pkey primary key (operation_id, id),
  constraint operation_job_outcome check (outcome in ('acted', 'skipped', 'failed')),
  constraint operation_job_fate check (fate in ('live', 'succeeded', 'same-error', 'other-error', 'cancelled'))
);

create index operation_job_untouched on stint.operation_job (operation_id, id) where outcome is null;
create index operation_job_canary on stint.operation_job (operation_id, id) where is_canary;
create index operation_job_live on stint.operation_job (operation_id, id) where fate = 'live';

-- The response to a POST with an Idempotency-Key, so that a repeat gets the same response.
create table stint.http_reply (
  scope           text            not null,                         -- actor and route
  key             text            not null,
  digest          bytea           not null,                         -- of the request's body
  status          smallint,                                         -- null while the first request is under way
  headers         jsonb,
  body            text,
  created_at      timestamptz     not null default stint.now(),
  expires_at      timestamptz     not null,
  asked           jsonb,                                            -- rights that the response needed: [{ action, of }]
  constraint http_reply_pkey primary key (scope, key)
);

create index http_reply_expiry on stint.http_reply (expires_at);

-- Sessions that were ended before they expired. A session is a signed cookie that contains its expiry, so a row is of no use
-- after that.
create table stint.ended_session (
  digest          bytea           not null,                         -- SHA-256 of the cookie's signature
  expires_at      timestamptz     not null,                         -- when the session expires by itself
  constraint ended_session_pkey primary key (digest)
);

-- Encrypts the cursors that point to jobs which a caller may not see. Stored here, so that every console can read them.
create table stint.cursor_key (
  key             bytea           not null,
  is_only         boolean         not null default true,
  constraint cursor_key_pkey primary key (is_only),
  constraint cursor_key_only check (is_only)
);

insert into stint.cursor_key (key)
values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
