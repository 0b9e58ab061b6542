-- The schema after all migrations. Made by `npm run schema:dump`; do not edit.

-- types

create domain stint.job_blob as text CHECK (((octet_length(VALUE) = 54) AND (VALUE ~ '^inputs/[0-9-]*/[0-9a-f-]*$'::text)));

create domain stint.job_correlation as text CHECK (((octet_length(VALUE) >= 1) AND (octet_length(VALUE) <= 256)));

create domain stint.job_name as text CHECK (((octet_length(VALUE) <= 128) AND (VALUE ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'::text)));

create domain stint.job_options as jsonb CHECK (((VALUE IS NULL) OR stint.is_job_options(VALUE)));

create domain stint.job_search as text[] CHECK (((VALUE IS NULL) OR stint.is_search(VALUE)));

create domain stint.job_time as timestamp with time zone CHECK (((VALUE >= to_timestamp((946684800)::double precision)) AND (VALUE < to_timestamp(('253402300800'::bigint)::double precision))));

create domain stint.job_traceparent as text CHECK (((octet_length(VALUE) = 55) AND (VALUE ~ '^[0-9a-f-]*$'::text)));

create domain stint.job_tracestate as text CHECK (((octet_length(VALUE) >= 1) AND (octet_length(VALUE) <= 512)));

create type stint.job_state as enum ('scheduled', 'waiting', 'ready', 'running', 'retrying', 'succeeded', 'cancelled', 'dead');

-- tables

create table stint.attempt (
  job_id uuid not null,
  epoch integer not null,
  attempt integer not null,
  outcome text not null,
  worker_id uuid,
  lease_id uuid,
  started_at timestamp with time zone,
  ended_at timestamp with time zone not null default stint.now(),
  error jsonb,
  fingerprint text,
  reason text
) partition by RANGE (ended_at);

create table stint.audit (
  id uuid not null,
  at timestamp with time zone not null default stint.now(),
  actor text not null,
  role text,
  origin text not null,
  action text not null,
  target text not null,
  outcome text not null default 'done'::text,
  reason text,
  before jsonb,
  after jsonb,
  operation_id uuid,
  request_id text,
  login text
);

create table stint.blob (
  key text not null,
  job_id uuid not null,
  created_at timestamp with time zone not null default stint.now()
);

create table stint.breaker (
  name text not null,
  window_ms double precision not null,
  share double precision not null,
  least integer not null,
  open_ms double precision not null,
  most_open_ms double precision not null,
  probes integer not null,
  counts text[] not null,
  source text not null default 'code'::text,
  updated_at timestamp with time zone not null default stint.now(),
  state text not null default 'closed'::text,
  since timestamp with time zone not null default stint.now(),
  opens integer not null default 0,
  changes bigint not null default 0,
  cause jsonb,
  probe_at timestamp with time zone,
  probe_by uuid,
  probe_until timestamp with time zone,
  probed integer not null default 0,
  forced_until timestamp with time zone,
  forced_by text,
  forced_reason text
);

create table stint.breaker_change (
  name text not null,
  at timestamp with time zone not null default stint.now(),
  was text not null,
  state text not null,
  cause jsonb,
  by text,
  reason text
);

create table stint.breaker_count (
  name text not null,
  slot timestamp with time zone not null,
  process uuid not null,
  flush integer not null,
  ok bigint not null,
  failed bigint not null
);

create table stint.concurrency_limit (
  name text not null,
  by_key boolean not null default false,
  max integer not null,
  tiers jsonb,
  on_limit text not null default 'wait'::text,
  source text not null default 'code'::text,
  updated_at timestamp with time zone not null default stint.now(),
  override_max integer,
  override_until timestamp with time zone,
  override_by text,
  override_reason text
);

create table stint.cursor_key (
  key bytea not null,
  is_only boolean not null default true
);

create table stint.dead (
  id uuid not null,
  created_at timestamp with time zone not null,
  run_at timestamp with time zone not null,
  started_at timestamp with time zone,
  died_at timestamp with time zone not null default stint.now(),
  epoch integer not null,
  attempt integer not null,
  max_attempts integer not null,
  crashes smallint not null,
  priority smallint not null,
  version smallint not null,
  queue text not null,
  kind text not null,
  key text,
  worker_id uuid,
  lease_id uuid,
  correlation_id text,
  traceparent text,
  tracestate text,
  parent_id uuid,
  flow_id uuid,
  deadline_at timestamp with time zone,
  search text[],
  options jsonb,
  input jsonb,
  input_blob text,
  reason text not null,
  error jsonb,
  fingerprint text,
  discarded_at timestamp with time zone,
  replaced_by uuid,
  progress jsonb,
  failures jsonb,
  attempts_before integer,
  replaces uuid,
  unique_key text,
  unique_until_start boolean,
  node smallint,
  member integer
);

create table stint.effect (
  scope text not null,
  key text not null,
  job_id uuid not null,
  result jsonb,
  created_at timestamp with time zone not null default stint.now(),
  expires_at timestamp with time zone not null
);

create table stint.ended_session (
  digest bytea not null,
  expires_at timestamp with time zone not null
);

create table stint.error_group (
  fingerprint text not null,
  kind text not null,
  class text not null,
  name text not null,
  title text not null,
  message text not null,
  first_seen timestamp with time zone not null,
  last_seen timestamp with time zone not null,
  versions jsonb not null default '{}'::jsonb,
  sample_job uuid not null,
  status text not null default 'open'::text,
  resolved_at timestamp with time zone,
  resolved_in text,
  ignored_until timestamp with time zone,
  regressed_at timestamp with time zone
);

create table stint.error_hour (
  fingerprint text not null,
  hour timestamp with time zone not null,
  process uuid not null,
  flush integer not null,
  failures bigint not null,
  deaths bigint not null
);

create table stint.finished (
  id uuid not null,
  created_at timestamp with time zone not null,
  run_at timestamp with time zone not null,
  started_at timestamp with time zone,
  finished_at timestamp with time zone not null default stint.now(),
  state stint.job_state not null,
  epoch integer not null,
  attempt integer not null,
  max_attempts integer not null,
  crashes smallint not null,
  priority smallint not null,
  version smallint not null,
  queue text not null,
  kind text not null,
  key text,
  worker_id uuid,
  lease_id uuid,
  correlation_id text,
  traceparent text,
  tracestate text,
  parent_id uuid,
  flow_id uuid,
  deadline_at timestamp with time zone,
  search text[],
  options jsonb,
  input jsonb,
  input_blob text,
  result jsonb,
  reason text,
  attempts_before integer,
  replaces uuid,
  node smallint,
  member integer,
  steps jsonb
) partition by RANGE (finished_at);

create table stint.fire (
  schedule text not null,
  fire_at timestamp with time zone not null,
  outcome text not null,
  job_id uuid,
  reason text,
  at timestamp with time zone not null default stint.now()
);

create table stint.flow (
  id uuid not null,
  type text not null default 'flow'::text,
  name text not null,
  parent_id uuid,
  open_nodes integer not null,
  created_at timestamp with time zone not null default stint.now(),
  ended_at timestamp with time zone,
  unique_key text,
  cancel_at timestamp with time zone,
  cancel_reason text,
  depth smallint not null default 0,
  read_at timestamp with time zone,
  rerun_of uuid
);

create table stint.flow_ending (
  flow_id uuid not null,
  node smallint,
  succeeded integer not null default 0,
  dead integer not null default 0,
  cancelled integer not null default 0,
  written_at timestamp with time zone not null default stint.now()
);

create table stint.flow_node (
  flow_id uuid not null,
  node smallint not null,
  name text not null,
  needs smallint not null default 0,
  chances smallint not null default 0,
  total integer not null,
  remaining integer not null,
  succeeded integer not null default 0,
  dead integer not null default 0,
  cancelled integer not null default 0,
  skips boolean not null default false,
  is_decided boolean not null default false,
  has_ended boolean not null default false,
  has_died boolean not null default false,
  is_complete boolean not null default false,
  on_succeeded smallint[],
  on_ended smallint[],
  on_dead smallint[],
  is_open boolean not null default false,
  needed smallint not null default 0
);

create table stint.flow_output (
  flow_id uuid not null,
  node smallint not null,
  member integer not null,
  job_id uuid not null,
  state stint.job_state not null,
  result jsonb,
  error jsonb
);

create table stint.gauge_refresh (
  id boolean not null default true,
  refreshed_at timestamp with time zone,
  took_ms double precision not null default 0
);

create table stint.http_reply (
  scope text not null,
  key text not null,
  digest bytea not null,
  status smallint,
  headers jsonb,
  body text,
  created_at timestamp with time zone not null default stint.now(),
  expires_at timestamp with time zone not null,
  asked jsonb
);

create table stint.idempotency_key (
  scope text not null,
  key text not null,
  job_id uuid not null,
  digest bytea not null,
  created_at timestamp with time zone not null default stint.now(),
  expires_at timestamp with time zone not null
);

create table stint.index_upkeep (
  name text not null,
  tried_at timestamp with time zone not null,
  took_ms integer,
  bytes_before bigint not null,
  bytes_after bigint,
  error text
);

create table stint.job (
  id uuid not null,
  created_at timestamp with time zone not null default stint.now(),
  run_at stint.job_time not null default stint.now(),
  state stint.job_state not null default 'ready'::stint.job_state,
  epoch integer not null default 0,
  attempt integer not null default 0,
  max_attempts integer not null default 5,
  crashes smallint not null default 0,
  priority smallint not null default 0,
  version smallint not null default 1,
  queue stint.job_name not null,
  kind stint.job_name not null,
  key text,
  input jsonb,
  started_at timestamp with time zone,
  worker_id uuid,
  lease_id uuid,
  claim_seq bigint,
  unique_key text,
  unique_until_start boolean,
  correlation_id stint.job_correlation,
  traceparent stint.job_traceparent,
  tracestate stint.job_tracestate,
  parent_id uuid,
  flow_id uuid,
  deadline_at stint.job_time,
  search stint.job_search,
  input_blob stint.job_blob,
  options stint.job_options,
  progress jsonb,
  failures jsonb,
  attempts_before integer,
  replaces uuid,
  begun_lease uuid,
  suspect boolean not null default false,
  cancel_at timestamp with time zone,
  cancel_reason text,
  node smallint,
  member integer,
  waits jsonb
);

create table stint.job_watch (
  target_id uuid not null,
  job_id uuid not null
);

create table stint.leader (
  name text not null,
  holder uuid,
  term bigint not null,
  since timestamp with time zone not null default stint.now(),
  until timestamp with time zone not null,
  about jsonb not null default '{}'::jsonb
);

create table stint.limit_cover (
  queue text not null,
  type text not null,
  name text not null,
  kinds text[],
  since timestamp with time zone not null default stint.now()
);

create table stint.limit_key (
  name text not null,
  key text not null,
  max integer,
  weight integer,
  tier text,
  until timestamp with time zone not null default 'infinity'::timestamp with time zone,
  by text,
  reason text,
  updated_at timestamp with time zone not null default stint.now()
);

create table stint.log (
  job_id uuid not null,
  epoch integer not null,
  line integer not null,
  at timestamp with time zone not null default stint.now(),
  level text not null,
  message text not null,
  data jsonb
) partition by RANGE (at);

create table stint.migration (
  version integer not null,
  name text not null,
  applied_at timestamp with time zone not null default now()
);

create table stint.operation (
  id uuid not null,
  intent_id uuid,
  action text not null,
  filter text,
  as_of timestamp with time zone not null,
  settings jsonb not null,
  state text not null default 'pending'::text,
  paused_in text,
  job_id uuid not null,
  noted integer not null default 0,
  cursor uuid,
  matched integer,
  acted integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  skipped_by jsonb not null default '{}'::jsonb,
  canary_at timestamp with time zone,
  canary_result jsonb,
  note text,
  reason text not null,
  actor text not null,
  role text,
  origin text not null,
  created_at timestamp with time zone not null default stint.now(),
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  fates jsonb,
  acted_at timestamp with time zone
);

create table stint.operation_job (
  operation_id uuid not null,
  id uuid not null,
  is_canary boolean not null default false,
  outcome text,
  reason text,
  epoch integer not null default 0,
  fingerprint text,
  fate text
);

create table stint.pause (
  queue text not null,
  kind text not null default ''::text,
  key text not null default ''::text,
  paused_at timestamp with time zone not null default stint.now(),
  paused_until timestamp with time zone not null default 'infinity'::timestamp with time zone,
  paused_by text not null,
  reason text
);

create table stint.queue (
  name text not null,
  keep_finished interval,
  keep_dead interval,
  updated_at timestamp with time zone not null default stint.now(),
  is_limited boolean not null default false,
  paused_at timestamp with time zone,
  paused_until timestamp with time zone,
  paused_by text,
  pause_reason text,
  takes_jobs boolean not null default true,
  pressure jsonb,
  retry_budget jsonb,
  concurrency integer,
  concurrency_until timestamp with time zone,
  concurrency_reason text,
  closed_at timestamp with time zone,
  close_reason text
);

create table stint.queue_gauge (
  queue text not null,
  ready bigint not null,
  running bigint not null,
  scheduled bigint not null,
  retrying bigint not null,
  waiting bigint not null,
  estimated text[] not null default '{}'::text[],
  oldest_ready_at timestamp with time zone,
  kinds jsonb not null default '{}'::jsonb,
  priorities jsonb not null default '{}'::jsonb,
  top_keys jsonb not null default '[]'::jsonb
);

create table stint.queue_pressure (
  queue text not null,
  counted_at timestamp with time zone,
  depth bigint not null default 0,
  is_estimate boolean not null default false,
  oldest_ready_at timestamp with time zone,
  keys jsonb not null default '{}'::jsonb,
  refused bigint not null default 0
);

create table stint.rate (
  name text not null,
  by_key boolean not null default false,
  tokens double precision not null,
  period_ms double precision not null,
  burst double precision not null,
  keep double precision not null default 0,
  source text not null default 'code'::text,
  updated_at timestamp with time zone not null default stint.now(),
  override_tokens double precision,
  override_until timestamp with time zone,
  override_by text,
  override_reason text,
  taken double precision not null default 0,
  refused double precision not null default 0
);

create table stint.rate_bucket (
  name text not null,
  key text not null default ''::text,
  seq bigint not null,
  tokens double precision not null,
  at timestamp with time zone not null,
  blocked_until timestamp with time zone,
  taken double precision not null default 0,
  refused double precision not null default 0
);

create table stint.retention (
  id boolean not null default true,
  audit interval not null default '400 days'::interval
);

create table stint.running_base (
  queue text not null,
  version bigint not null,
  floor bigint not null,
  ids uuid[] not null,
  keys text[] not null,
  made_at timestamp with time zone not null default clock_timestamp()
);

create table stint.schedule (
  name text not null,
  kind text not null,
  queue text not null,
  spec jsonb not null,
  time_zone text not null default 'UTC'::text,
  job jsonb not null,
  input jsonb,
  input_from_code boolean not null default false,
  overlap text not null default 'allow'::text,
  missed text not null default 'once'::text,
  missed_limit integer not null default 100,
  missed_window_ms bigint not null default 86400000,
  jitter_ms bigint not null default 0,
  starts_at timestamp with time zone,
  ends_at timestamp with time zone,
  source text not null,
  app_version text,
  digest text not null,
  paused_at timestamp with time zone,
  paused_until timestamp with time zone,
  pause_reason text,
  decided_to timestamp with time zone not null default stint.now(),
  next_fire_at timestamp with time zone,
  queued_fire_at timestamp with time zone,
  turn bigint not null default 1,
  failures integer not null default 0,
  last_error text,
  retry_at timestamp with time zone,
  created_at timestamp with time zone not null default stint.now(),
  updated_at timestamp with time zone not null default stint.now(),
  keep_fires_ms bigint not null default '2592000000'::bigint,
  forgotten_to timestamp with time zone
);

create table stint.service (
  name text not null,
  last_ok_at timestamp with time zone,
  took_ms integer,
  last_error text,
  last_error_at timestamp with time zone
);

create table stint.signal (
  id uuid not null,
  job_id uuid not null,
  name text not null,
  key text,
  payload jsonb not null,
  sent_at timestamp with time zone not null default stint.now(),
  sent_by text,
  taken_by integer
);

create table stint.stat_hour (
  hour timestamp with time zone not null,
  queue text not null,
  kind text not null,
  enqueued bigint not null,
  started bigint not null,
  succeeded bigint not null,
  failed bigint not null,
  dead bigint not null,
  lease_expired bigint not null,
  refused bigint not null,
  cancelled bigint not null,
  snoozed bigint not null,
  released bigint not null,
  crashed bigint not null,
  attempts bigint not null,
  wait jsonb not null,
  run jsonb not null
);

create table stint.stat_minute (
  minute timestamp with time zone not null,
  queue text not null,
  kind text not null,
  process uuid not null,
  flush integer not null,
  enqueued bigint not null default 0,
  started bigint not null default 0,
  succeeded bigint not null default 0,
  failed bigint not null default 0,
  dead bigint not null default 0,
  lease_expired bigint not null default 0,
  refused bigint not null default 0,
  moved bigint not null default 0,
  cancelled bigint not null default 0,
  snoozed bigint not null default 0,
  released bigint not null default 0,
  crashed bigint not null default 0,
  attempts bigint not null default 0,
  wait jsonb not null default '{}'::jsonb,
  run jsonb not null default '{}'::jsonb
);

create table stint.stat_settle (
  minute timestamp with time zone not null,
  queue text not null,
  kind text not null,
  succeeded integer not null default 0,
  failed integer not null default 0,
  dead integer not null default 0,
  lease_expired integer not null default 0,
  cancelled integer not null default 0,
  snoozed integer not null default 0,
  released integer not null default 0,
  crashed integer not null default 0,
  attempts bigint not null default 0
);

create table stint.step (
  job_id uuid not null,
  name text not null,
  n integer not null,
  seq integer not null,
  type text not null,
  state text not null,
  epoch integer not null,
  tries smallint not null default 1,
  beside boolean not null default false,
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  until timestamp with time zone,
  result jsonb,
  result_blob text,
  error jsonb
);

create table stint.worker (
  id uuid not null,
  started_at timestamp with time zone not null default stint.now(),
  lease_until timestamp with time zone not null,
  lost_at timestamp with time zone,
  renewed_at timestamp with time zone not null default stint.now(),
  about jsonb not null default '{}'::jsonb,
  rss_bytes bigint,
  claims jsonb,
  wanted jsonb,
  death text,
  clock_ahead_ms double precision,
  clock_error_ms double precision
);

-- constraints

alter table stint.audit add constraint audit_origin CHECK ((origin = ANY (ARRAY['api'::text, 'dashboard'::text, 'cli'::text, 'code'::text])));

alter table stint.audit add constraint audit_outcome CHECK ((outcome = ANY (ARRAY['done'::text, 'refused'::text])));

alter table stint.audit add constraint audit_pkey PRIMARY KEY (id);

alter table stint.blob add constraint blob_pkey PRIMARY KEY (key);

alter table stint.breaker add constraint breaker_in_bounds CHECK ((((window_ms >= (1000)::double precision) AND (window_ms <= (86400000)::double precision)) AND (share > (0)::double precision) AND (share <= (1)::double precision) AND (("least" >= 1) AND ("least" <= 1000000)) AND ((open_ms >= (100)::double precision) AND (open_ms <= (86400000)::double precision)) AND ((most_open_ms >= open_ms) AND (most_open_ms <= (86400000)::double precision)) AND ((probes >= 1) AND (probes <= 1000)) AND ((opens >= 0) AND (opens <= 1000000)) AND ((probed >= 0) AND (probed <= 1000000)) AND ((changes >= 0) AND (changes <= '1000000000000000'::bigint)) AND (cardinality(counts) <= 20)));

alter table stint.breaker add constraint breaker_name CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'::text)));

alter table stint.breaker add constraint breaker_pkey PRIMARY KEY (name);

alter table stint.breaker add constraint breaker_source CHECK ((source = ANY (ARRAY['code'::text, 'runtime'::text])));

alter table stint.breaker add constraint breaker_state CHECK ((state = ANY (ARRAY['closed'::text, 'open'::text, 'half-open'::text])));

alter table stint.breaker add constraint breaker_texts CHECK (((octet_length(forced_by) <= 512) AND (octet_length(forced_reason) <= 4000) AND (octet_length((cause)::text) <= 20000)));

alter table stint.breaker_change add constraint breaker_change_states CHECK (((was = ANY (ARRAY['closed'::text, 'open'::text, 'half-open'::text])) AND (state = ANY (ARRAY['closed'::text, 'open'::text, 'half-open'::text]))));

alter table stint.breaker_change add constraint breaker_change_texts CHECK (((octet_length(name) <= 128) AND (octet_length(by) <= 512) AND (octet_length(reason) <= 4000) AND (octet_length((cause)::text) <= 20000)));

alter table stint.breaker_count add constraint breaker_count_in_bounds CHECK ((((ok >= 0) AND (ok <= 1000000000)) AND ((failed >= 0) AND (failed <= 1000000000))));

alter table stint.breaker_count add constraint breaker_count_pkey PRIMARY KEY (name, slot, process);

alter table stint.concurrency_limit add constraint concurrency_limit_in_bounds CHECK (((max >= 0) AND (override_max >= 0) AND (jsonb_typeof(tiers) = 'object'::text)));

alter table stint.concurrency_limit add constraint concurrency_limit_name CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'::text)));

alter table stint.concurrency_limit add constraint concurrency_limit_pkey PRIMARY KEY (name);

alter table stint.concurrency_limit add constraint concurrency_limit_policy CHECK ((on_limit = ANY (ARRAY['wait'::text, 'drop-newest'::text, 'latest-wins'::text])));

alter table stint.concurrency_limit add constraint concurrency_limit_source CHECK ((source = ANY (ARRAY['code'::text, 'runtime'::text])));

alter table stint.concurrency_limit add constraint concurrency_limit_texts CHECK (((octet_length(override_by) <= 512) AND (octet_length(override_reason) <= 2000)));

alter table stint.cursor_key add constraint cursor_key_only CHECK (is_only);

alter table stint.cursor_key add constraint cursor_key_pkey PRIMARY KEY (is_only);

alter table stint.dead add constraint dead_pkey PRIMARY KEY (id);

alter table stint.dead add constraint dead_reason CHECK ((reason = ANY (ARRAY['exhausted'::text, 'permanent'::text, 'quarantined'::text, 'expired'::text, 'discarded-contract'::text, 'invalid-row'::text])));

alter table stint.effect add constraint effect_pkey PRIMARY KEY (scope, key);

alter table stint.ended_session add constraint ended_session_pkey PRIMARY KEY (digest);

alter table stint.error_group add constraint error_group_pkey PRIMARY KEY (fingerprint);

alter table stint.error_group add constraint error_group_status CHECK ((status = ANY (ARRAY['open'::text, 'resolved'::text, 'ignored'::text])));

alter table stint.error_hour add constraint error_hour_pkey PRIMARY KEY (fingerprint, hour, process);

alter table stint.finished add constraint finished_has_ended CHECK ((state = ANY (ARRAY['succeeded'::stint.job_state, 'cancelled'::stint.job_state])));

alter table stint.fire add constraint fire_has_job CHECK (((outcome = ANY (ARRAY['fired'::text, 'asked'::text])) = (job_id IS NOT NULL)));

alter table stint.fire add constraint fire_outcome CHECK ((outcome = ANY (ARRAY['fired'::text, 'skipped'::text, 'missed'::text, 'queued'::text, 'asked'::text])));

alter table stint.fire add constraint fire_pkey PRIMARY KEY (schedule, fire_at);

alter table stint.flow add constraint flow_in_bounds CHECK (((type = ANY (ARRAY['flow'::text, 'children'::text])) AND ((octet_length(name) >= 1) AND (octet_length(name) <= 128)) AND ((octet_length(unique_key) >= 1) AND (octet_length(unique_key) <= 512))));

alter table stint.flow add constraint flow_pkey PRIMARY KEY (id);

alter table stint.flow_ending add constraint flow_ending_in_bounds CHECK ((((succeeded >= 0) AND (succeeded <= 1000000)) AND ((dead >= '-1000000'::integer) AND (dead <= 1000000)) AND ((cancelled >= 0) AND (cancelled <= 1000000))));

alter table stint.flow_node add constraint flow_node_in_bounds CHECK (((node >= 0) AND ((octet_length(name) >= 1) AND (octet_length(name) <= 128)) AND ((total >= 0) AND (total <= 10000000))));

alter table stint.flow_node add constraint flow_node_pkey PRIMARY KEY (flow_id, node);

alter table stint.flow_output add constraint flow_output_pkey PRIMARY KEY (flow_id, node, member);

alter table stint.gauge_refresh add constraint gauge_refresh_one CHECK (id);

alter table stint.gauge_refresh add constraint gauge_refresh_pkey PRIMARY KEY (id);

alter table stint.http_reply add constraint http_reply_pkey PRIMARY KEY (scope, key);

alter table stint.idempotency_key add constraint idempotency_key_in_bounds CHECK (((octet_length(scope) <= 1500) AND ((octet_length(key) >= 1) AND (octet_length(key) <= 641))));

alter table stint.idempotency_key add constraint idempotency_key_pkey PRIMARY KEY (scope, key);

alter table stint.index_upkeep add constraint index_upkeep_pkey PRIMARY KEY (name);

alter table stint.job add constraint job_in_bounds CHECK (((state < 'succeeded'::stint.job_state) AND stint.is_key(key)));

alter table stint.job add constraint job_lease_while_running CHECK (((lease_id IS NOT NULL) = (state = 'running'::stint.job_state)));

alter table stint.job add constraint job_pkey PRIMARY KEY (id);

alter table stint.job_watch add constraint job_watch_pkey PRIMARY KEY (target_id, job_id);

alter table stint.leader add constraint leader_pkey PRIMARY KEY (name);

alter table stint.limit_cover add constraint limit_cover_in_bounds CHECK ((((octet_length(queue) >= 1) AND (octet_length(queue) <= 128)) AND ((octet_length(name) >= 1) AND (octet_length(name) <= 128)) AND ((cardinality(kinds) >= 1) AND (cardinality(kinds) <= 1000))));

alter table stint.limit_cover add constraint limit_cover_pkey PRIMARY KEY (queue, type, name);

alter table stint.limit_cover add constraint limit_cover_type CHECK ((type = ANY (ARRAY['concurrency'::text, 'rate'::text, 'breaker'::text])));

alter table stint.limit_key add constraint limit_key_in_bounds CHECK ((((octet_length(name) >= 1) AND (octet_length(name) <= 128)) AND ((octet_length(key) >= 1) AND (octet_length(key) <= 512)) AND (max >= 0) AND ((weight >= 1) AND (weight <= 1000)) AND (octet_length(tier) <= 128)));

alter table stint.limit_key add constraint limit_key_pkey PRIMARY KEY (name, key);

alter table stint.limit_key add constraint limit_key_texts CHECK (((octet_length(by) <= 512) AND (octet_length(reason) <= 2000)));

alter table stint.migration add constraint migration_pkey PRIMARY KEY (version);

alter table stint.operation add constraint operation_pkey PRIMARY KEY (id);

alter table stint.operation add constraint operation_state CHECK ((state = ANY (ARRAY['pending'::text, 'canary'::text, 'ramping'::text, 'paused'::text, 'stopped'::text, 'aborted'::text, 'done'::text])));

alter table stint.operation_job add constraint operation_job_fate CHECK ((fate = ANY (ARRAY['live'::text, 'succeeded'::text, 'same-error'::text, 'other-error'::text, 'cancelled'::text])));

alter table stint.operation_job add constraint operation_job_outcome CHECK ((outcome = ANY (ARRAY['acted'::text, 'skipped'::text, 'failed'::text])));

alter table stint.operation_job add constraint operation_job_pkey PRIMARY KEY (operation_id, id);

alter table stint.pause add constraint pause_names CHECK ((((octet_length(queue) >= 1) AND (octet_length(queue) <= 128)) AND (octet_length(kind) <= 128) AND (octet_length(key) <= 512)));

alter table stint.pause add constraint pause_of_one CHECK (((kind = ''::text) <> (key = ''::text)));

alter table stint.pause add constraint pause_pkey PRIMARY KEY (queue, kind, key);

alter table stint.pause add constraint pause_texts CHECK (((octet_length(paused_by) <= 512) AND (octet_length(reason) <= 4000)));

alter table stint.queue add constraint queue_close_reason CHECK ((octet_length(close_reason) <= 4000));

alter table stint.queue add constraint queue_concurrency CHECK ((((concurrency >= 1) AND (concurrency <= 10000)) AND (octet_length(concurrency_reason) <= 2000)));

alter table stint.queue add constraint queue_in_bounds CHECK (((keep_finished <= '3660 days'::interval) AND (keep_dead <= '3660 days'::interval)));

alter table stint.queue add constraint queue_keeps CHECK (((keep_finished >= '00:00:00'::interval) AND (keep_dead >= '00:00:00'::interval)));

alter table stint.queue add constraint queue_name CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'::text)));

alter table stint.queue add constraint queue_pause_texts CHECK (((octet_length(paused_by) <= 512) AND (octet_length(pause_reason) <= 4000)));

alter table stint.queue add constraint queue_pkey PRIMARY KEY (name);

alter table stint.queue_gauge add constraint queue_gauge_pkey PRIMARY KEY (queue);

alter table stint.queue_pressure add constraint queue_pressure_in_bounds CHECK ((((octet_length(queue) >= 1) AND (octet_length(queue) <= 128)) AND (depth >= 0) AND (refused >= 0) AND (jsonb_typeof(keys) = 'object'::text)));

alter table stint.queue_pressure add constraint queue_pressure_pkey PRIMARY KEY (queue);

alter table stint.rate add constraint rate_in_bounds CHECK ((((tokens >= (0.001)::double precision) AND (tokens <= ('1000000000'::numeric)::double precision)) AND ((period_ms >= (1)::double precision) AND (period_ms <= ('315576000000'::bigint)::double precision)) AND ((burst >= (1)::double precision) AND (burst <= ('1000000000'::numeric)::double precision)) AND (keep >= (0)::double precision) AND (keep <= burst) AND ((override_tokens >= (0.001)::double precision) AND (override_tokens <= ('1000000000'::numeric)::double precision)) AND ((taken >= (0)::double precision) AND (taken <= ('1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000'::numeric)::double precision)) AND ((refused >= (0)::double precision) AND (refused <= ('1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000'::numeric)::double precision))));

alter table stint.rate add constraint rate_name CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'::text)));

alter table stint.rate add constraint rate_pkey PRIMARY KEY (name);

alter table stint.rate add constraint rate_source CHECK ((source = ANY (ARRAY['code'::text, 'runtime'::text])));

alter table stint.rate add constraint rate_texts CHECK (((octet_length(override_by) <= 512) AND (octet_length(override_reason) <= 2000)));

alter table stint.rate_bucket add constraint rate_bucket_in_bounds CHECK (((octet_length(name) <= 128) AND (octet_length(key) <= 512) AND ((tokens >= ('-1000000000'::numeric)::double precision) AND (tokens <= ('1000000000'::numeric)::double precision)) AND ((seq >= 0) AND (seq <= '8999999999999999999'::bigint)) AND ((at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (at <= '9999-01-01 00:00:00+00'::timestamp with time zone)) AND ((blocked_until >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (blocked_until <= '9999-01-01 00:00:00+00'::timestamp with time zone)) AND ((taken >= (0)::double precision) AND (taken <= ('1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000'::numeric)::double precision)) AND ((refused >= (0)::double precision) AND (refused <= ('1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000'::numeric)::double precision))));

alter table stint.rate_bucket add constraint rate_bucket_pkey PRIMARY KEY (name, key, seq);

alter table stint.retention add constraint retention_audit CHECK (((audit >= '1 day'::interval) AND (audit <= '36525 days'::interval)));

alter table stint.retention add constraint retention_one CHECK (id);

alter table stint.retention add constraint retention_pkey PRIMARY KEY (id);

alter table stint.running_base add constraint running_base_pkey PRIMARY KEY (queue, version);

alter table stint.schedule add constraint schedule_in_bounds CHECK ((((missed_limit >= 0) AND (missed_limit <= 1000)) AND ((missed_window_ms >= 0) AND (missed_window_ms <= '31622400000'::bigint)) AND ((jitter_ms >= 0) AND (jitter_ms <= 86400000)) AND ((keep_fires_ms >= 0) AND (keep_fires_ms <= '316224000000'::bigint)) AND ((octet_length(time_zone) >= 1) AND (octet_length(time_zone) <= 64)) AND (pg_column_size(spec) <= 65536) AND (pg_column_size(job) <= 65536) AND ((input IS NULL) OR (pg_column_size(input) <= 2097152))));

alter table stint.schedule add constraint schedule_missed CHECK ((missed = ANY (ARRAY['skip'::text, 'once'::text, 'all'::text])));

alter table stint.schedule add constraint schedule_names CHECK (((octet_length(name) <= 128) AND (name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'::text) AND (octet_length(kind) <= 128) AND (kind ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'::text) AND (octet_length(queue) <= 128) AND (queue ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'::text)));

alter table stint.schedule add constraint schedule_overlap CHECK ((overlap = ANY (ARRAY['allow'::text, 'skip'::text, 'queue-one'::text, 'cancel-previous'::text])));

alter table stint.schedule add constraint schedule_pkey PRIMARY KEY (name);

alter table stint.schedule add constraint schedule_source CHECK ((source = ANY (ARRAY['code'::text, 'runtime'::text])));

alter table stint.service add constraint service_pkey PRIMARY KEY (name);

alter table stint.signal add constraint signal_in_bounds CHECK ((((octet_length(name) >= 1) AND (octet_length(name) <= 128)) AND ((octet_length(key) >= 1) AND (octet_length(key) <= 512)) AND (octet_length(sent_by) <= 512)));

alter table stint.signal add constraint signal_pkey PRIMARY KEY (id);

alter table stint.stat_hour add constraint stat_hour_pkey PRIMARY KEY (hour, queue, kind);

alter table stint.stat_minute add constraint stat_minute_pkey PRIMARY KEY (minute, queue, kind, process);

alter table stint.step add constraint step_in_bounds CHECK ((((octet_length(name) >= 1) AND (octet_length(name) <= 256)) AND ((n >= 0) AND (n <= 100000)) AND (state = ANY (ARRAY['open'::text, 'done'::text, 'failed'::text]))));

alter table stint.step add constraint step_pkey PRIMARY KEY (job_id, name, n);

alter table stint.worker add constraint worker_pkey PRIMARY KEY (id);

-- storage

alter table stint.blob set (autovacuum_vacuum_scale_factor=0.05);

alter table stint.breaker_count set (fillfactor=80);

alter table stint.dead set (autovacuum_vacuum_scale_factor=0.05);

alter table stint.effect set (autovacuum_vacuum_scale_factor=0.05);

alter table stint.error_group set (fillfactor=80);

alter table stint.error_hour set (fillfactor=80);

alter table stint.fire set (autovacuum_vacuum_scale_factor=0.05);

alter table stint.flow set (fillfactor=70);

alter table stint.flow_ending set (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0);

alter table stint.flow_node set (fillfactor=50);

alter table stint.gauge_refresh set (fillfactor=10);

alter table stint.idempotency_key set (autovacuum_vacuum_scale_factor=0.05);

alter table stint.job alter column claim_seq set statistics 0;

alter table stint.job alter column flow_id set statistics 0;

alter table stint.job alter column key set statistics 0;

alter table stint.job alter column lease_id set statistics 0;

alter table stint.job alter column node set statistics 0;

alter table stint.job alter column options set statistics 0;

alter table stint.job alter column priority set statistics 0;

alter table stint.job alter column queue set statistics 0;

alter table stint.job alter column run_at set statistics 0;

alter table stint.job alter column state set statistics 0;

alter table stint.job alter column version set statistics 0;

alter table stint.job alter column worker_id set statistics 0;

alter table stint.job set (vacuum_truncate=off, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0);

alter table stint.leader set (fillfactor=50, autovacuum_vacuum_threshold=100, autovacuum_vacuum_scale_factor=0);

alter table stint.operation set (fillfactor=50);

alter table stint.queue_gauge set (fillfactor=50);

alter table stint.queue_pressure set (fillfactor=50);

alter table stint.rate_bucket set (autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_cost_delay=0);

alter table stint.running_base set (autovacuum_vacuum_threshold=1000, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_cost_delay=0);

alter table stint.schedule set (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=100);

alter table stint.service set (fillfactor=50, autovacuum_vacuum_threshold=100, autovacuum_vacuum_scale_factor=0);

alter table stint.signal set (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0);

alter table stint.stat_hour set (fillfactor=80);

alter table stint.stat_minute set (fillfactor=80);

alter table stint.stat_settle set (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000);

alter table stint.step set (autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0);

alter table stint.worker set (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=200);

-- indexes

CREATE INDEX attempt_job ON ONLY stint.attempt USING btree (job_id, epoch);

CREATE INDEX attempt_lease ON ONLY stint.attempt USING btree (lease_id, job_id);

CREATE INDEX audit_actor ON stint.audit USING btree (actor, id);

CREATE INDEX audit_at ON stint.audit USING btree (at);

CREATE INDEX audit_target ON stint.audit USING btree (target, id);

CREATE INDEX breaker_change_name ON stint.breaker_change USING btree (name, at);

CREATE INDEX dead_died ON stint.dead USING btree (queue, died_at);

CREATE INDEX dead_discarded ON stint.dead USING btree (discarded_at) WHERE (discarded_at IS NOT NULL);

CREATE INDEX dead_fingerprint ON stint.dead USING btree (fingerprint, id);

CREATE INDEX dead_flow ON stint.dead USING btree (flow_id, node) WHERE (flow_id IS NOT NULL);

CREATE INDEX dead_key ON stint.dead USING btree (key, id) WHERE (key IS NOT NULL);

CREATE INDEX dead_kind ON stint.dead USING btree (kind, id);

CREATE INDEX dead_queue ON stint.dead USING btree (queue, id);

CREATE INDEX dead_replaced ON stint.dead USING btree (replaced_by) WHERE (replaced_by IS NOT NULL);

CREATE INDEX dead_search ON stint.dead USING gin (search) WHERE (search IS NOT NULL);

CREATE INDEX effect_expiry ON stint.effect USING btree (expires_at);

CREATE INDEX error_group_seen ON stint.error_group USING btree (last_seen);

CREATE INDEX error_hour_age ON stint.error_hour USING btree (hour);

CREATE INDEX finished_correlation ON ONLY stint.finished USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);

CREATE INDEX finished_flow ON ONLY stint.finished USING btree (flow_id, node) WHERE (flow_id IS NOT NULL);

CREATE INDEX finished_id ON ONLY stint.finished USING btree (id);

CREATE INDEX fire_asked ON stint.fire USING btree (schedule, job_id) WHERE (outcome = 'asked'::text);

CREATE INDEX fire_job ON stint.fire USING btree (schedule, fire_at DESC) WHERE (job_id IS NOT NULL);

CREATE INDEX flow_cancelled ON stint.flow USING btree (id) WHERE ((cancel_at IS NOT NULL) AND (ended_at IS NULL));

CREATE INDEX flow_ended ON stint.flow USING btree (ended_at) WHERE (ended_at IS NOT NULL);

CREATE INDEX flow_ending_flow ON stint.flow_ending USING btree (flow_id);

CREATE INDEX flow_open ON stint.flow USING btree (id) WHERE (ended_at IS NULL);

CREATE INDEX flow_output_failed ON stint.flow_output USING btree (flow_id, node, member) WHERE (state <> 'succeeded'::stint.job_state);

CREATE INDEX flow_parent ON stint.flow USING btree (parent_id) WHERE (parent_id IS NOT NULL);

CREATE INDEX http_reply_expiry ON stint.http_reply USING btree (expires_at);

CREATE INDEX idempotency_key_expiry ON stint.idempotency_key USING btree (expires_at);

CREATE INDEX job_due ON stint.job USING btree (queue, run_at) WHERE (state = ANY (ARRAY['scheduled'::stint.job_state, 'retrying'::stint.job_state]));

CREATE INDEX job_flow ON stint.job USING btree (flow_id, node) WHERE (flow_id IS NOT NULL);

CREATE INDEX job_ordered ON stint.job USING btree (queue, key, created_at, id) WHERE ((options)::jsonb ? 'ordered'::text);

CREATE INDEX job_ready ON stint.job USING btree (queue, priority DESC, run_at, id) WHERE ((state = 'ready'::stint.job_state) AND (key IS NULL));

CREATE INDEX job_ready_keyed ON stint.job USING btree (queue, key, priority DESC, run_at, id) WHERE ((state = 'ready'::stint.job_state) AND (key IS NOT NULL));

CREATE INDEX job_running ON stint.job USING btree (worker_id) WHERE (state = 'running'::stint.job_state);

CREATE INDEX job_running_limited ON stint.job USING btree (queue, claim_seq) WHERE ((state = 'running'::stint.job_state) AND (claim_seq IS NOT NULL));

CREATE INDEX job_waiting ON stint.job USING btree (queue, run_at) WHERE (state = 'waiting'::stint.job_state);

CREATE INDEX job_watch_job ON stint.job_watch USING btree (job_id);

CREATE INDEX limit_cover_name ON stint.limit_cover USING btree (type, name, queue);

CREATE INDEX limit_key_weight ON stint.limit_key USING btree (name, key) WHERE (weight IS NOT NULL);

CREATE INDEX log_job ON ONLY stint.log USING btree (job_id, epoch, line);

CREATE INDEX operation_job_canary ON stint.operation_job USING btree (operation_id, id) WHERE is_canary;

CREATE INDEX operation_job_live ON stint.operation_job USING btree (operation_id, id) WHERE (fate = 'live'::text);

CREATE INDEX operation_job_untouched ON stint.operation_job USING btree (operation_id, id) WHERE (outcome IS NULL);

CREATE INDEX schedule_due ON stint.schedule USING btree (next_fire_at) WHERE (next_fire_at IS NOT NULL);

CREATE INDEX schedule_queued ON stint.schedule USING btree (name) WHERE (queued_fire_at IS NOT NULL);

CREATE INDEX signal_job ON stint.signal USING btree (job_id, name, id);

CREATE INDEX stat_minute_raw ON stint.stat_minute USING btree (minute) WHERE (process <> '00000000-0000-0000-0000-000000000000'::uuid);

CREATE INDEX stat_settle_minute ON stint.stat_settle USING btree (minute);

CREATE UNIQUE INDEX flow_unique ON stint.flow USING btree (name, unique_key) WHERE ((unique_key IS NOT NULL) AND (ended_at IS NULL));

CREATE UNIQUE INDEX job_unique ON stint.job USING btree (queue, unique_key) WHERE (unique_key IS NOT NULL);

CREATE UNIQUE INDEX operation_intent ON stint.operation USING btree (intent_id) WHERE (intent_id IS NOT NULL);

CREATE UNIQUE INDEX signal_key ON stint.signal USING btree (job_id, name, key) WHERE (key IS NOT NULL);

-- views

create view stint.jobs as
 SELECT 'live'::text AS place,
    job.id,
    job.state,
    job.queue::text AS queue,
    job.kind::text AS kind,
    job.key,
    job.priority,
    job.attempt,
    job.max_attempts,
    job.crashes,
    job.epoch,
    job.version,
    job.created_at,
    job.run_at::timestamp with time zone AS run_at,
    job.started_at,
    NULL::timestamp with time zone AS finished_at,
    job.deadline_at::timestamp with time zone AS deadline_at,
    job.worker_id,
    job.correlation_id::text AS correlation_id,
    job.traceparent::text AS traceparent,
    job.tracestate::text AS tracestate,
    job.parent_id,
    job.flow_id,
    job.search::text[] AS search,
    job.options::jsonb AS options,
    NULL::text AS reason,
    NULL::timestamp with time zone AS discarded_at,
    NULL::uuid AS replaced_by,
    job.input,
    job.input_blob::text AS input_blob,
    NULL::jsonb AS result,
    NULL::jsonb AS error,
    job.progress,
    job.attempts_before,
    job.replaces,
    job.suspect,
    job.cancel_at,
    job.node,
    job.member,
    job.waits,
    NULL::jsonb AS steps
   FROM stint.job
UNION ALL
 SELECT 'finished'::text AS place,
    finished.id,
    finished.state,
    finished.queue,
    finished.kind,
    finished.key,
    finished.priority,
    finished.attempt,
    finished.max_attempts,
    finished.crashes,
    finished.epoch,
    finished.version,
    finished.created_at,
    finished.run_at,
    finished.started_at,
    finished.finished_at,
    finished.deadline_at,
    finished.worker_id,
    finished.correlation_id,
    finished.traceparent,
    finished.tracestate,
    finished.parent_id,
    finished.flow_id,
    finished.search,
    finished.options,
    finished.reason,
    NULL::timestamp with time zone AS discarded_at,
    NULL::uuid AS replaced_by,
    finished.input,
    finished.input_blob,
    finished.result,
    NULL::jsonb AS error,
    NULL::jsonb AS progress,
    finished.attempts_before,
    finished.replaces,
    false AS suspect,
    NULL::timestamp with time zone AS cancel_at,
    finished.node,
    finished.member,
    NULL::jsonb AS waits,
    finished.steps
   FROM stint.finished
UNION ALL
 SELECT 'dead'::text AS place,
    dead.id,
    'dead'::stint.job_state AS state,
    dead.queue,
    dead.kind,
    dead.key,
    dead.priority,
    dead.attempt,
    dead.max_attempts,
    dead.crashes,
    dead.epoch,
    dead.version,
    dead.created_at,
    dead.run_at,
    dead.started_at,
    dead.died_at AS finished_at,
    dead.deadline_at,
    dead.worker_id,
    dead.correlation_id,
    dead.traceparent,
    dead.tracestate,
    dead.parent_id,
    dead.flow_id,
    dead.search,
    dead.options,
    dead.reason,
    dead.discarded_at,
    dead.replaced_by,
    dead.input,
    dead.input_blob,
    NULL::jsonb AS result,
    dead.error,
    dead.progress,
    dead.attempts_before,
    dead.replaces,
    false AS suspect,
    NULL::timestamp with time zone AS cancel_at,
    dead.node,
    dead.member,
    NULL::jsonb AS waits,
    NULL::jsonb AS steps
   FROM stint.dead;

-- functions

CREATE OR REPLACE FUNCTION stint.add_bins(one jsonb, other jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select coalesce(jsonb_object_agg(merged.bin, merged.jobs), '{}')
    from (select both_of.bin, sum(both_of.jobs::bigint) as jobs
            from (select * from jsonb_each_text(one) union all select * from jsonb_each_text(other)) as both_of (bin, jobs)
           group by both_of.bin) as merged
$function$;

CREATE OR REPLACE FUNCTION stint.add_to_flow(flow uuid, node_name text, groups text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  given   jsonb := groups::jsonb;
  first   uuid  := (given -> 0 -> 'ids' ->> 0)::uuid;
  grown   stint.flow_node;
  size    integer;
begin
  perform from stint.flow as f where f.id = flow for no key update;
  if not found then
    return 'not-found';
  end if;
  if exists (select from stint.job as j where j.id = first) or stint.has_ended(first) then
    return 'added';
  end if;
  select n.* from stint.flow_node as n where n.flow_id = flow and n.name = node_name and n.is_open into grown;
  if grown.flow_id is null then
    return 'closed';
  end if;
  select coalesce(sum(jsonb_array_length(g -> 'ids')), 0)::integer from jsonb_array_elements(given) as g into size;
  perform stint.store_flow_jobs(
    jsonb_build_array(jsonb_build_object('id', flow, 'nodes', jsonb_build_array(jsonb_build_object(
      'needs', 0, 'node', grown.node, 'placeFrom', grown.total - 1, 'groups', given)))),
    array[flow]);
  update stint.flow_node as n
     set total     = n.total + size,
         remaining = n.remaining + size
   where n.flow_id = flow
     and n.node = grown.node;
  return 'added';
end
$function$;

CREATE OR REPLACE FUNCTION stint.bucket_lock(of_name text, of_key text)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select hashtextextended('stint.rate_bucket ' || of_name || ' ' || case when of_key = '' then 0 else hashtext(of_key) & 31 end, 0)
$function$;

CREATE OR REPLACE FUNCTION stint.buckets_of(of_queue text, of_keys text[])
 RETURNS TABLE(name text, key text, kinds text[], by_key boolean, have double precision, per_ms double precision, tokens double precision, seq bigint, at timestamp with time zone, blocked_until timestamp with time zone, burst double precision, taken double precision, refused double precision)
 LANGUAGE sql
 STABLE
AS $function$
  select rate.name, lane.key, cover.kinds, rate.by_key,
         case when last.blocked_until > stint.now() then least(0, level.tokens - rate.keep) else level.tokens - rate.keep end,
         speed.per_ms, level.tokens, last.seq, greatest(stint.now(), last.at), last.blocked_until, rate.burst,
         coalesce(last.taken, 0), coalesce(last.refused, 0)
    from stint.limit_cover as cover
    join stint.rate on rate.name = cover.name
   cross join lateral (
           select stint.tokens_per_ms(rate.tokens, rate.period_ms, rate.override_tokens, rate.override_until) as per_ms) as speed
   cross join lateral (
           select distinct case when rate.by_key then coalesce(k, '') else '' end as key from unnest(of_keys) as k) as lane
    left join lateral (
           select bucket.seq, bucket.tokens, bucket.at, bucket.blocked_until, bucket.taken, bucket.refused
             from stint.rate_bucket as bucket
            where bucket.name = rate.name
              and bucket.key = lane.key
            order by bucket.seq desc
            limit 1) as last on true
   cross join lateral (
           select least(rate.burst,
                        coalesce(last.tokens + greatest(extract(epoch from stint.now() - last.at), 0) * 1000 * speed.per_ms,
                                 rate.burst)) as tokens) as level
   where cover.queue = of_queue
     and cover.type = 'rate'
$function$;

CREATE OR REPLACE FUNCTION stint.change_bucket(of_name text, of_key text, given double precision, close_ms double precision)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  rule    stint.rate;
  last    stint.rate_bucket;
  per_ms  double precision;
  have    double precision;
  at_time timestamptz;
  closed  timestamptz;
begin
  if (given between -1e9 and 1e9 and close_ms between 0 and 86400000) is not true then
    raise exception 'tokens and times must be in bounds' using errcode = '22023';
  end if;
  select * into rule from stint.rate as r where r.name = of_name;
  if rule.name is null then
    raise exception 'no rate is named %', of_name using errcode = 'ST003';
  end if;
  of_key := case when rule.by_key then of_key else '' end;
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(stint.bucket_lock(of_name, of_key));
  select * into last from stint.rate_bucket as b where b.name = of_name and b.key = of_key order by b.seq desc limit 1;
  per_ms := stint.tokens_per_ms(rule.tokens, rule.period_ms, rule.override_tokens, rule.override_until);
  at_time := greatest(stint.now(), last.at);
  have := least(rule.burst, coalesce(last.tokens + extract(epoch from at_time - last.at) * 1000 * per_ms, rule.burst));
  closed := greatest(case when last.blocked_until > stint.now() then last.blocked_until end,
                     case when close_ms > 0 then stint.now() + close_ms * interval '1 ms' end);
  insert into stint.rate_bucket (name, key, seq, tokens, at, blocked_until, taken, refused)
  values (of_name, of_key, stint.next_seq(last.seq),
          greatest(-1e9, least(have, -86400000 * per_ms), least(rule.burst, have + given)), greatest(at_time, closed), closed,
          greatest(0, coalesce(last.taken, 0) - given), coalesce(last.refused, 0));
  delete from stint.rate_bucket as b where b.name = of_name and b.key = of_key and b.seq = last.seq;
end
$function$;

CREATE OR REPLACE FUNCTION stint.checked_deadline(value jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^\d{4}-\d\d-\d\dT' then
    return jsonb_build_object('deadlineAt', stint.checked_time('deadline', value));
  end if;
  return jsonb_build_object('deadlineMs', stint.checked_ms('deadline', value));
end
$function$;

CREATE OR REPLACE FUNCTION stint.checked_integer(field text, value jsonb, low integer, high integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if jsonb_typeof(value) <> 'number' or value::text !~ '^-?\d{1,9}$' or value::text::integer not between low and high then
    perform stint.refuse(field, format('to be an integer from %s to %s', low, high), value::text);
  end if;
  return value::text::integer;
end
$function$;

CREATE OR REPLACE FUNCTION stint.checked_job(queue text, kind text, input jsonb, options jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  name_pattern constant text := '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]{0,127}$';
  job    jsonb := jsonb_build_object('id', stint.uuid_v7(), 'queue', queue, 'kind', kind, 'input', input);
  option record;
begin
  options := jsonb_strip_nulls(options);
  if queue is null or queue !~ name_pattern then
    perform stint.refuse('queue', 'to match ' || name_pattern, queue);
  elsif kind is null or kind !~ name_pattern then
    perform stint.refuse('kind', 'to match ' || name_pattern, kind);
  elsif octet_length(input::text) > 262144 then
    perform stint.refuse('input', 'to be at most 256 KiB of JSON (store it elsewhere and pass a reference)',
      octet_length(input::text) || ' bytes');
  -- The root is level 0, so an array or object at level 100 is the 101st level. A scalar at level 100 is allowed.
  elsif jsonb_path_exists(input, 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') then
    perform stint.refuse('input', 'to be nested at most 100 levels deep', 'more');
  elsif jsonb_typeof(options) <> 'object' then
    perform stint.refuse('options', 'to be a JSON object', options::text);
  elsif options ? 'runAt' and options ? 'delay' then
    perform stint.refuse('options', 'to have runAt or delay, not both', options::text);
  end if;

  for option in select e.key as name, e.value from jsonb_each(options) as e loop
    job := job || case option.name
      when 'runAt' then jsonb_build_object('runAt', stint.checked_time('runAt', option.value))
      when 'delay' then jsonb_build_object('delayMs', stint.checked_ms('delay', option.value, 0))
      when 'priority' then jsonb_build_object('priority', stint.checked_integer('priority', option.value, -100, 100))
      when 'key' then jsonb_build_object('key', stint.checked_text('key', option.value, 512))
      when 'attempts' then jsonb_build_object('maxAttempts', stint.checked_integer('attempts', option.value, 1, 1000))
      when 'timeout' then jsonb_build_object('options', coalesce(job -> 'options', '{}')
        || jsonb_build_object('timeoutMs', stint.checked_ms('timeout', option.value)))
      when 'cost' then jsonb_build_object('options', coalesce(job -> 'options', '{}')
        || jsonb_build_object('cost', stint.checked_integer('cost', option.value, 1, 999999999)))
      when 'order' then jsonb_build_object('options', coalesce(job -> 'options', '{}')
        || jsonb_build_object('ordered', stint.checked_order(option.value, options)))
      when 'version' then jsonb_build_object('version', stint.checked_integer('version', option.value, 1, 32767))
      when 'deadline' then stint.checked_deadline(option.value)
      when 'correlationId' then jsonb_build_object('correlationId', stint.checked_text('correlationId', option.value, 256))
      when 'traceparent' then jsonb_build_object('traceparent', stint.checked_traceparent(option.value))
      when 'tracestate' then jsonb_build_object('tracestate', stint.checked_text('tracestate', option.value, 512))
      when 'idempotencyKey' then jsonb_build_object('idempotencyKey', stint.checked_text('idempotencyKey', option.value, 512))
      when 'idempotencyFor' then jsonb_build_object('idempotencyForMs', stint.checked_ms('idempotencyFor', option.value))
      when 'search' then jsonb_build_object('tokens', stint.checked_search(option.value))
      when 'unique' then jsonb_build_object('unique', stint.checked_unique(option.value))
    end;
    if job is null then
      perform stint.refuse('options', 'to hold only runAt, delay, priority, key, attempts, timeout, version, deadline, cost, order, '
        'correlationId, traceparent, tracestate, search, unique, idempotencyKey and idempotencyFor', option.name);
    end if;
  end loop;
  if (job ->> 'deadlineAt')::timestamptz < (job ->> 'runAt')::timestamptz then
    perform stint.refuse('deadline', 'to be later than runAt', job ->> 'deadlineAt');
  end if;
  return job;
end
$function$;

CREATE OR REPLACE FUNCTION stint.checked_ms(field text, value jsonb, low double precision DEFAULT 1)
 RETURNS double precision
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  ms float8;
begin
  begin
    ms := case jsonb_typeof(value)
            when 'number' then value::text::float8
            when 'string' then extract(epoch from (value #>> '{}')::interval) * 1000
          end;
  exception when others then
    ms := null;
  end;
  if ms is null or ms < low or ms > 315576000000 then
    perform stint.refuse(field, format('to be an interval such as "30s" or a number of milliseconds, from %s ms to 10 years', low), value::text);
  end if;
  return ms;
end
$function$;

CREATE OR REPLACE FUNCTION stint.checked_order(value jsonb, options jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if value not in ('"hold"', '"pass"') then
    perform stint.refuse('order', 'to be "hold" or "pass"', value::text);
  elsif not options ? 'key' then
    perform stint.refuse('key', 'to be given with order', null);
  elsif options ?| array['runAt', 'delay', 'priority'] then
    perform stint.refuse('order', 'to be given without runAt, delay and priority', value::text);
  end if;
  return value #>> '{}';
end
$function$;

CREATE OR REPLACE FUNCTION stint.checked_search(search jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  token record;
begin
  if jsonb_typeof(search) <> 'object' or (select count(*) from jsonb_object_keys(search)) > 8 then
    perform stint.refuse('search', 'to be an object of at most 8 names', search::text);
  end if;
  for token in select e.key as name, e.value from jsonb_each(search) as e loop
    if token.name !~ '^[A-Za-z_][A-Za-z0-9_]{0,63}$' then
      perform stint.refuse('search', 'to have names of letters, digits and _', token.name);
    elsif jsonb_typeof(token.value) not in ('string', 'number', 'boolean')
       or octet_length(token.value #>> '{}') not between 1 and 256 then
      perform stint.refuse('search.' || token.name, 'to be a string, number or boolean of 1 to 256 bytes', token.value::text);
    end if;
  end loop;
  return (select coalesce(jsonb_agg(e.key || ':' || e.value order by e.key), '[]') from jsonb_each_text(search) as e);
end
$function$;

CREATE OR REPLACE FUNCTION stint.checked_text(field text, value jsonb, max_bytes integer)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if jsonb_typeof(value) <> 'string' or octet_length(value #>> '{}') not between 1 and max_bytes then
    perform stint.refuse(field, format('to be a string of 1 to %s bytes', max_bytes), value::text);
  end if;
  return value #>> '{}';
end
$function$;

CREATE OR REPLACE FUNCTION stint.checked_time(field text, value jsonb)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  moment timestamptz;
begin
  if jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$' then
    begin
      moment := (value #>> '{}')::timestamptz;
    exception when others then
      moment := null;
    end;
  end if;
  if moment is null or moment < stint.now() - interval '1 minute' or moment > stint.now() + interval '10 years' then
    perform stint.refuse(field, 'to be an ISO 8601 time with a zone, from now on, within 10 years', value::text);
  end if;
  return moment;
end
$function$;

CREATE OR REPLACE FUNCTION stint.checked_traceparent(value jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if jsonb_typeof(value) <> 'string' or value #>> '{}' !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' then
    perform stint.refuse('traceparent', 'to be a W3C traceparent', value::text);
  end if;
  return value #>> '{}';
end
$function$;

CREATE OR REPLACE FUNCTION stint.checked_unique(rule jsonb)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  checked jsonb := '{}';
  part    record;
begin
  if jsonb_typeof(rule) <> 'object' then
    perform stint.refuse('unique', 'to be an object such as {"key": "a", "until": "finished"}', rule::text);
  elsif rule ? 'until' and rule ? 'for' then
    perform stint.refuse('unique', 'to have until or for, not both', rule::text);
  end if;
  for part in select e.key as name, e.value from jsonb_each(rule) as e loop
    case part.name
      when 'key' then checked := checked || jsonb_build_object('key', stint.checked_text('unique.key', part.value, 512));
      when 'for' then checked := checked || jsonb_build_object('forMs', stint.checked_ms('unique.for', part.value));
      when 'until' then
        if part.value not in ('"started"', '"finished"') then
          perform stint.refuse('unique.until', 'to be "started" or "finished"', part.value::text);
        end if;
        checked := checked || jsonb_build_object('until', part.value);
      when 'onConflict' then
        if part.value not in ('"keep"', '"replace"', '"debounce"', '"error"') then
          perform stint.refuse('unique.onConflict', 'to be "keep", "replace", "debounce" or "error"', part.value::text);
        end if;
        checked := checked || jsonb_build_object('onConflict', part.value);
      else
        perform stint.refuse('unique', 'to hold only key, until, for and onConflict', part.name);
    end case;
  end loop;
  if not (checked ? 'until' or checked ? 'forMs') then
    checked := checked || '{"until": "finished"}';
  end if;
  return checked;
end
$function$;

CREATE OR REPLACE FUNCTION stint.claim_limited(p_queue text, p_worker uuid, p_lease uuid, p_kinds jsonb, p_limit integer, p_keys text[], p_priorities smallint[], p_floor_ats timestamp with time zone[], p_floor_ids uuid[], p_takes integer[], p_ordered boolean[])
 RETURNS TABLE(job stint.job, note jsonb)
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
declare
  choice record;
begin
  choice := stint.pick_limited(p_queue, p_kinds, p_limit, p_keys, p_priorities, p_floor_ats, p_floor_ids, p_takes, p_ordered);
  return query
    update stint.job as j
       set state      = 'running',
           worker_id  = p_worker,
           lease_id   = p_lease,
           attempt    = j.attempt + 1,
           epoch      = j.epoch + 1,
           started_at = stint.now(),
           unique_key = case when j.unique_until_start then null else j.unique_key end,
           claim_seq  = nextval('stint.claim_order')
     where j.id = any(choice.picked)
    returning j, null::jsonb;
  return query select null::stint.job, choice.note;
end
$function$;

CREATE OR REPLACE FUNCTION stint.close_flow(flow uuid)
 RETURNS TABLE(type text, queue text, priority smallint, key text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform from stint.flow as f where f.id = flow for no key update;
  if not found then
    return query select 'not-found', null::text, null::smallint, null::text;
    return;
  end if;
  with closed as (
    update stint.flow_node as n
       set is_open   = false,
           total     = n.total - 1,
           remaining = n.remaining - 1
     where n.flow_id = flow
       and n.is_open
    returning n.flow_id, n.node
  )
  insert into stint.flow_ending (flow_id, node)
  select c.flow_id, c.node from closed as c;
  return query select 'closed', null::text, null::smallint, null::text;
  return query select c.type, c.queue, c.priority, c.key from stint.count_endings(array[flow]) as c where c.type = 'ready';
end
$function$;

CREATE OR REPLACE FUNCTION stint.closed_ms(of_name text, of_key text)
 RETURNS double precision
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select greatest(0, extract(epoch from last.blocked_until - stint.now()) * 1000)::double precision
    from stint.rate
   cross join lateral (
           select bucket.blocked_until
             from stint.rate_bucket as bucket
            where bucket.name = rate.name
              and bucket.key = case when rate.by_key then of_key else '' end
            order by bucket.seq desc
            limit 1) as last
   where rate.name = of_name
$function$;

CREATE OR REPLACE FUNCTION stint.count_endings(flows uuid[])
 RETURNS TABLE(type text, id uuid, queue text, priority smallint, key text)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
declare
  free          uuid[];
  cancelled_ids uuid[];
  changes       jsonb;
  edges         jsonb;
begin
  free := array(select f.id from stint.flow as f where f.id = any(flows) for no key update skip locked);
  return query
  select 'busy', f.id, null::text, null::smallint, null::text
    from stint.flow as f
   where f.id = any(flows)
     and f.id <> all(free);

  with taken as (
    delete from stint.flow_ending as e
     where e.flow_id = any(free)
    returning e.flow_id, e.node, e.succeeded, e.dead, e.cancelled
  ), cancelling as materialized (
    select distinct t.flow_id from taken as t where t.node is null
  ), summed as (
    select ended.flow_id, ended.node,
           least(sum(ended.succeeded), 1000000)::integer as succeeded,
           least(greatest(sum(ended.dead), -1000000), 1000000)::integer as dead,
           least(sum(ended.cancelled), 1000000)::integer as cancelled
      from (select t.flow_id, t.node, t.succeeded, t.dead, t.cancelled from taken as t where t.node is not null
             union all
            -- A cancelled flow is not held open by its dead jobs: each of its nodes is looked at again.
            select n.flow_id, n.node, 0, 0, 0 from cancelling as c join stint.flow_node as n on n.flow_id = c.flow_id) as ended
     group by ended.flow_id, ended.node
  ), added as (
    select o.flow_id, o.node, o.is_decided, o.has_ended, o.has_died, o.is_complete, o.remaining > 0 as was_open,
           o.remaining - (s.succeeded + s.dead + s.cancelled) as remaining,
           o.succeeded + s.succeeded as succeeded, o.dead + s.dead as dead, o.cancelled + s.cancelled as cancelled,
           o.skips or exists (select from cancelling as c where c.flow_id = o.flow_id) as skips,
           s.dead > 0 or s.cancelled > 0 as dies
      from summed as s
      join stint.flow_node as o on o.flow_id = s.flow_id and o.node = s.node
  ), counted as (
    update stint.flow_node as n
       set remaining   = a.remaining,
           succeeded   = a.succeeded,
           dead        = a.dead,
           cancelled   = a.cancelled,
           skips       = a.skips,
           is_decided  = a.is_decided or a.remaining <= 0 and a.dead <= 0 or a.skips and a.dead > 0,
           has_ended   = a.has_ended or a.remaining <= 0,
           has_died    = a.has_died or a.dead > 0,
           is_complete = a.is_complete or a.remaining <= 0 and (a.dead <= 0 or a.skips)
      from added as a
     where n.flow_id = a.flow_id
       and n.node = a.node
    returning n.flow_id, n.on_succeeded, n.on_ended, n.on_dead,
              n.cancelled <= 0 and n.dead <= 0 as succeeds, n.has_died as had_death,
              n.is_decided and not a.is_decided as decides,
              n.has_ended and not a.has_ended as ends_first,
              n.has_died and not a.has_died as dies_first,
              n.is_complete and not a.is_complete as completes,
              a.was_open and n.remaining <= 0 as ends, a.dies
  ), edge as (
    select c.flow_id, unnest(c.on_succeeded) as node, c.succeeds as fires from counted as c where c.decides
     union all
    select c.flow_id, unnest(c.on_ended), true from counted as c where c.ends_first
     union all
    select c.flow_id, unnest(c.on_dead), c.dies_first from counted as c where c.dies_first or c.decides and not c.had_death
  ), fired as (
    select e.flow_id, e.node, count(*) filter (where e.fires) as fires, count(*) filter (where not e.fires) as losses
      from edge as e
     group by e.flow_id, e.node
  ), changed as (
    select c.flow_id, count(*) filter (where c.completes) as completed, bool_or(c.ends) as ends, bool_or(c.dies) as dies
      from counted as c
     where c.completes or c.ends or c.dies
     group by c.flow_id
  )
  select (select jsonb_agg(to_jsonb(c)) from changed as c),
         (select jsonb_agg(to_jsonb(f)) from fired as f),
         (select array_agg(c.flow_id) from cancelling as c)
    into changes, edges, cancelled_ids;

  if cancelled_ids is not null then
    update stint.flow as f
       set cancel_at     = stint.now(),
           cancel_reason = 'the job that made it was cancelled'
     where f.id = any(cancelled_ids)
       and f.cancel_at is null;
  end if;
  if changes is not null then
    return query select 'ready', null::uuid, w.queue, w.priority, w.key from stint.note_node_endings(changes) as w;
  end if;
  if edges is not null then
    return query select 'ready', null::uuid, r.queue, r.priority, r.key from stint.fire_edges(edges) as r;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION stint.count_waiting(of_queue text, most integer, with_keys boolean, OUT jobs bigint, OUT oldest_ready_at timestamp with time zone, OUT keys jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  with part as materialized (
    select null::text as key, count(*) as found, min(seen.run_at) as oldest
      from (select job.run_at
              from stint.job
             where state = 'ready' and key is null and job.queue = of_queue
             order by job.queue, job.priority desc, job.run_at, job.id
             limit most) as seen
    union all
    select seen.key, count(*), min(seen.run_at)
      from (select case when with_keys then job.key end as key, job.run_at
              from stint.job
             where state = 'ready' and job.key is not null and job.queue = of_queue
             order by job.queue, job.key, job.priority desc, job.run_at, job.id
             limit most) as seen
     group by seen.key
    union all
    select seen.key, count(*), null
      from (select case when with_keys then job.key end as key
              from stint.job
             where state in ('scheduled', 'retrying') and job.queue = of_queue
             order by job.queue, job.run_at
             limit most) as seen
     group by seen.key
    union all
    select seen.key, count(*), null
      from (select case when with_keys then job.key end as key
              from stint.job
             where state = 'waiting' and job.queue = of_queue
             order by job.queue, job.run_at
             limit most) as seen
     group by seen.key
  )
  select coalesce(sum(part.found), 0)::bigint, min(part.oldest),
         (select coalesce(jsonb_object_agg(deepest.key, deepest.found), '{}')
            from (select part.key, sum(part.found)::bigint as found
                    from part
                   where part.key is not null
                   group by part.key
                   order by 2 desc, 1
                   limit 1000) as deepest)
    into jobs, oldest_ready_at, keys
    from part;
end
$function$;

CREATE OR REPLACE FUNCTION stint.death_of(worker uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
RETURN (SELECT COALESCE((SELECT (COALESCE(ended.death, 'its lease ran out'::text) || COALESCE(((', with '::text || (ended.rss_bytes / 1048576)) || ' MB of memory at its last heartbeat'::text), ''::text)) FROM stint.worker ended WHERE (ended.id = death_of.worker)), 'nothing is known of it'::text) AS "coalesce");

CREATE OR REPLACE FUNCTION stint.drop_day(old_table text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET lock_timeout TO '200ms'
AS $function$
begin
  if not exists (select from stint.old_days() where day_table = old_table) then
    return false;
  end if;
  execute format('drop table if exists stint.%I', old_table);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION stint.enqueue(queue text, kind text, input jsonb DEFAULT 'null'::jsonb, options jsonb DEFAULT '{}'::jsonb, OUT id uuid, OUT duplicate boolean, OUT replaced boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  job jsonb;
  placed record;
begin
  job := stint.checked_job(enqueue.queue, enqueue.kind, coalesce(enqueue.input, 'null'), coalesce(options, '{}'));
  perform stint.refuse_when_full(enqueue.queue, coalesce((job ->> 'priority')::float8, 0), job ->> 'key');
  placed := stint.enqueue_one(job, false);
  if placed.outcome = 'conflict' then
    raise exception 'Job % already stands for this unique key', placed.job_id
      using errcode = 'ST001', detail = placed.job_id::text, hint = 'Use onConflict "keep" to accept the job that is there.';
  elsif placed.outcome = 'mismatch' then
    raise exception 'The idempotency key "%" was used with another input, by job %', options ->> 'idempotencyKey', placed.job_id
      using errcode = 'ST002', detail = placed.job_id::text, hint = 'Use another key for another intent.';
  end if;
  id := placed.job_id;
  duplicate := placed.outcome <> 'stored';
  replaced := placed.outcome = 'replaced';
end
$function$;

CREATE OR REPLACE FUNCTION stint.enqueue_flows(flows text)
 RETURNS TABLE(ordinal integer, flow_id uuid, outcome text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  given   jsonb := flows::jsonb;
  added   uuid[];
  stored  uuid[] := '{}';
  pending integer;
  bad     text;
begin
  if exists (select
               from stint.worker as w
              where w.lost_at is null
                and w.lease_until >= stint.now()
                and not w.about ? 'flows') then
    raise exception 'stint.enqueue_flows: a worker that lives does not know flows'
      using errcode = 'ST007', hint = 'Upgrade all workers first.';
  end if;
  select jsonb_array_length(g -> 'nodes')
    from jsonb_array_elements(given) as g
   where jsonb_array_length(g -> 'nodes') not between 1 and 1000
   limit 1
    into bad;
  if bad is not null then
    perform stint.refuse('nodes', 'to be a list of 1 to 1000 nodes', bad);
  end if;
  for try in 1 .. 100 loop
    -- In the order of the unique keys, so that two calls never wait for each other.
    with new_flow as (
      insert into stint.flow as f (id, type, name, parent_id, open_nodes, unique_key)
      select g.id, 'flow', g.name, g."parentId", jsonb_array_length(g.nodes), g."uniqueKey"
        from jsonb_to_recordset(given) as g (id uuid, name text, "parentId" uuid, "uniqueKey" text, nodes jsonb)
       order by g.name, g."uniqueKey", g.id
      on conflict do nothing
      returning f.id
    )
    select array_agg(n.id) from new_flow as n into added;
    stored := stored || added;

    -- An open flow with the same unique key may have ended between the two statements: then try again.
    select count(*)
      from jsonb_to_recordset(given) as g (id uuid, name text, "uniqueKey" text)
     where not exists (select from stint.flow as f where f.id = g.id)
       and not exists (select
                         from stint.flow as f
                        where f.name = g.name
                          and f.unique_key = g."uniqueKey"
                          and f.unique_key is not null
                          and f.ended_at is null)
      into pending;
    exit when pending = 0;
  end loop;
  if pending > 0 then
    raise exception 'could not store % flows after 100 tries', pending using errcode = 'serialization_failure';
  end if;

  insert into stint.flow_node (flow_id, node, name, needs, chances, skips, total, remaining, is_open, needed,
                               on_succeeded, on_ended, on_dead)
  select f.id, n.place - 1, n.name, n.needs, n.chances, coalesce(n.skips, false), size.jobs, size.jobs,
         coalesce(n."isOpen", false), n.needs, n."onSucceeded", n."onEnded", n."onDead"
    from jsonb_to_recordset(given) as f (id uuid, nodes jsonb)
   cross join lateral rows from (
           jsonb_to_recordset(f.nodes) as (
             name text, needs smallint, chances smallint, skips boolean, "isOpen" boolean, "onSucceeded" smallint[],
             "onEnded" smallint[], "onDead" smallint[], groups jsonb))
         with ordinality as n (name, needs, chances, skips, "isOpen", "onSucceeded", "onEnded", "onDead", groups, place)
   cross join lateral (
           select coalesce(sum(jsonb_array_length(g -> 'ids')), 0)::integer
                  + case when n."isOpen" then 1 else 0 end as jobs
             from jsonb_array_elements(n.groups) as g) as size
   where f.id = any(stored);
  -- Nothing would ever end a node without a job.
  select n.name from stint.flow_node as n where n.flow_id = any(stored) and n.total = 0 limit 1 into bad;
  if bad is not null then
    perform stint.refuse('groups', 'to have a job', bad);
  end if;

  perform stint.store_flow_jobs(given, stored);

  return query
  select (g.place - 1)::integer, coalesce(own.id, held.id), case when own.id is not null then 'stored' else 'kept' end
    from rows from (jsonb_to_recordset(given) as (id uuid, name text, "uniqueKey" text)) with ordinality as g (id, name, "uniqueKey", place)
    left join stint.flow as own on own.id = g.id
    left join stint.flow as held
      on own.id is null
     and held.name = g.name
     and held.unique_key = g."uniqueKey"
     and held.unique_key is not null
     and held.ended_at is null
   order by g.place;
end
$function$;

CREATE OR REPLACE FUNCTION stint.enqueue_jobs(jobs jsonb, again boolean DEFAULT false)
 RETURNS TABLE(ordinal integer, job_id uuid, outcome text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  element record;
begin
  for element in select e.job, e.place from jsonb_array_elements(jobs) with ordinality as e (job, place) loop
    ordinal := element.place - 1;
    select one.job_id, one.outcome into job_id, outcome from stint.enqueue_one(element.job, again) as one;
    return next;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION stint.enqueue_one(wanted jsonb, again boolean, OUT job_id uuid, OUT outcome text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
  -- The kind is part of the key: two kinds of one queue may both be unique by customer.
  wanted_key  text := (wanted ->> 'kind') || ' ' || coalesce(rule ->> 'key', encode(digest, 'hex'));
  on_conflict text := coalesce(rule ->> 'onConflict', 'keep');
  -- As JSON, so that no two lists of names give the same text. The console sets idempotencyScope to the person it acts for.
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
      continue when job_id is null;                        -- that job ended between the two statements: try again
    end if;

    if on_conflict = 'error' then
      -- This job is not stored, so its idempotency key is free again.
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

    -- A later call with this idempotency key gets the job that stands for it.
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
$function$;

CREATE OR REPLACE FUNCTION stint.ensure_partitions(days integer DEFAULT 14)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION stint.fire_edges(edges jsonb)
 RETURNS TABLE(queue text, priority smallint, key text)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  starting_flows uuid[];
  starting_nodes smallint[];
  skipped_flows  uuid[];
  skipped_nodes  smallint[];
begin
  with reached as (
    update stint.flow_node as n
       set needs   = n.needs - e.fires,
           chances = n.chances - e.fires - e.losses
      from jsonb_to_recordset(edges) as e (flow_id uuid, node smallint, fires smallint, losses smallint)
     where n.flow_id = e.flow_id
       and n.node = e.node
    returning n.flow_id, n.node,
              n.needs + e.fires > 0 and n.needs <= 0 as starts,
              n.needs > 0 and n.needs > n.chances as is_skipped
  )
  select array_agg(r.flow_id) filter (where r.starts), array_agg(r.node) filter (where r.starts),
         array_agg(r.flow_id) filter (where r.is_skipped), array_agg(r.node) filter (where r.is_skipped)
    from reached as r
    into starting_flows, starting_nodes, skipped_flows, skipped_nodes;

  -- By id, and the state as text: the planner takes the index of waiting jobs for empty, and compared each with each.
  if starting_flows is not null then
    return query
    with released as (
      update stint.job as j
         set state       = case when wait.delay > interval '0' then 'scheduled' else 'ready' end::stint.job_state,
             run_at      = stint.now() + wait.delay,
             deadline_at = coalesce(j.deadline_at, stint.now() + wait.delay + wait.deadline),
             waits       = null
        from unnest(starting_flows, starting_nodes) as s (flow_id, node)
       cross join lateral (
               select m.id as job_id, coalesce(stint.milliseconds(m.waits -> 'delayMs'), interval '0') as delay,
                      stint.milliseconds(m.waits -> 'deadlineMs') as deadline
                 from stint.job as m
                where m.flow_id = s.flow_id
                  and m.node = s.node
               offset 0) as wait
       where j.id = wait.job_id
         and j.state::text = 'waiting'
      returning j.queue::text, j.priority, j.key
    )
    select distinct r.queue, r.priority, r.key from released as r;
  end if;

  if skipped_flows is not null then
    return query
    with skipped as (
      update stint.job as j
         set state         = 'ready',
             run_at        = stint.now(),
             cancel_at     = coalesce(j.cancel_at, stint.now()),
             cancel_reason = coalesce(j.cancel_reason, 'skipped: a job that it needs did not succeed'),
             waits         = null
       where j.id = any(array(
               select m.id
                 from unnest(skipped_flows, skipped_nodes) as s (flow_id, node)
                cross join lateral (
                        select o.id from stint.job as o where o.flow_id = s.flow_id and o.node = s.node offset 0) as m))
         and j.state::text = 'waiting'
      returning j.queue::text, j.priority, j.key
    )
    select distinct s.queue, s.priority, s.key from skipped as s;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION stint.has_ended(ended_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  made_at timestamptz := to_timestamp(('x' || substr(translate(ended_id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0);
begin
  return exists (select from stint.dead where id = ended_id)
      or exists (select from stint.finished where id = ended_id and finished_at >= made_at - interval '1 hour');
end
$function$;

CREATE OR REPLACE FUNCTION stint.history_start()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select stint.now() - least(greatest(stint.kept_by_default(), (select max(keep_finished) from stint.queue)), interval '36525 days')
$function$;

CREATE OR REPLACE FUNCTION stint.is_awaited(waits jsonb, signal_name text, payload jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select exists (
    select from jsonb_array_elements(case when jsonb_typeof(waits -> 'signals') = 'array' then waits -> 'signals' else '[]' end) as wait
     where wait ->> 'name' = signal_name
       and (not wait ? 'match' or payload @> (wait -> 'match')))
$function$;

CREATE OR REPLACE FUNCTION stint.is_job_options(options jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if jsonb_typeof(options) <> 'object'
     or options - array['timeoutMs', 'crashLimit', 'fireAt', 'cost', 'ordered', 'references'] <> '{}' then
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
     and coalesce(options ->> 'ordered' in ('hold', 'pass'), not options ? 'ordered')
     and coalesce(options -> 'references' = 'true', not options ? 'references');
end
$function$;

CREATE OR REPLACE FUNCTION stint.is_key(key text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE STRICT
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return octet_length(key) between 1 and 512;
end
$function$;

CREATE OR REPLACE FUNCTION stint.is_open(of_queue text)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select not exists (select
                       from stint.queue
                      where queue.name = of_queue
                        and (queue.is_limited or queue.paused_until > stint.now()))
$function$;

CREATE OR REPLACE FUNCTION stint.is_search(words text[])
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return cardinality(words) = 0
      or array_ndims(words) = 1
         and array_lower(words, 1) = 1
         and cardinality(words) <= 9
         and not exists (select from unnest(words) as word where word is null or octet_length(word) not between 1 and 321);
end
$function$;

CREATE OR REPLACE FUNCTION stint.is_wait_over(waits jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  return exists (
           select
             from jsonb_each_text(case when jsonb_typeof(waits -> 'flows') = 'object' then waits -> 'flows' else '{}' end) as wait (flow_id, until)
             left join stint.flow as f on f.id = wait.flow_id::uuid
            where f.id is null
               or f.type = 'flow' and f.open_nodes <= 0 and wait.until <> 'failed'
               or exists (select
                            from stint.flow_node as n
                           where n.flow_id = f.id
                             and (f.type = 'children' and n.remaining <= 0 and wait.until <> 'failed'
                                  or wait.until <> 'ended' and n.dead + n.cancelled > 0)))
      or jsonb_typeof(waits -> 'jobs') = 'array'
         and not exists (
               select
                 from jsonb_array_elements_text(waits -> 'jobs') as target (id)
                where exists (select from stint.job as j where j.id = target.id::uuid));
end
$function$;

CREATE OR REPLACE FUNCTION stint.kept_by_default()
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$ select interval '7 days' $function$;

CREATE OR REPLACE FUNCTION stint.limits_of(of_queue text)
 RETURNS TABLE(name text, kinds text[], by_key boolean, max integer, tiers jsonb, on_limit text)
 LANGUAGE sql
 STABLE
AS $function$
  select rule.name, cover.kinds, rule.by_key,
         case when rule.override_until > stint.now() then coalesce(rule.override_max, rule.max) else rule.max end,
         rule.tiers, rule.on_limit
    from stint.limit_cover as cover
    join stint.concurrency_limit as rule on rule.name = cover.name
   where cover.queue = of_queue
     and cover.type = 'concurrency'
$function$;

CREATE OR REPLACE FUNCTION stint.lock_limits(of_queue text, of_keys text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_advisory_xact_lock(names.lock)
     from (select hashtextextended('stint.claim ' || of_queue, 0) as lock
           union
           select hashtextextended('stint.limit ' || mine.name, 0)
             from stint.limit_cover as mine
             join stint.limit_cover as other
               on other.type = 'concurrency' and other.name = mine.name and other.queue <> of_queue
            where mine.queue = of_queue
              and mine.type = 'concurrency'
            order by lock) as names;
  perform pg_advisory_xact_lock(buckets.lock)
     from (select distinct stint.bucket_lock(rate.name, case when rate.by_key then coalesce(k, '') else '' end) as lock
             from stint.limit_cover as cover
             join stint.rate on rate.name = cover.name
            cross join unnest(of_keys) as k
            where cover.queue = of_queue
              and cover.type = 'rate'
            order by lock) as buckets;
end
$function$;

CREATE OR REPLACE FUNCTION stint.look_at_children(parent uuid, lease uuid, flows uuid[], at_failure boolean, cancels boolean)
 RETURNS TABLE(is_over boolean, open_flows uuid[], failed jsonb)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  perform from stint.job as j where j.id = parent and j.lease_id = look_at_children.lease for no key update;
  if not found then
    return;
  end if;
  perform from stint.flow as f where f.id = any(flows) order by f.id for no key update;
  perform from stint.count_endings(flows);
  if at_failure then
    select jsonb_build_object('id', o.job_id, 'state', o.state, 'error', jsonb_build_object(
             'name', left(o.error ->> 'name', 200), 'message', left(o.error ->> 'message', 2000), 'code', left(o.error ->> 'code', 200)))
      from unnest(flows) with ordinality as asked (id, place)
     cross join lateral (
             select output.job_id, output.state, output.error
               from stint.flow_output as output
              where output.flow_id = asked.id
                and output.state <> 'succeeded'
              order by output.node, output.member
              limit 1) as o
     order by asked.place
     limit 1
      into failed;
    if failed is null and exists (select from stint.flow_node as n where n.flow_id = any(flows) and n.dead + n.cancelled > 0) then
      failed := '{"id": null, "state": "cancelled", "error": null}';
    end if;
  end if;
  open_flows := array(select n.flow_id from stint.flow_node as n where n.flow_id = any(flows) and n.remaining > 0 order by n.flow_id);
  is_over := failed is not null or cardinality(open_flows) = 0;
  if is_over then
    update stint.flow as f
       set read_at = coalesce(f.read_at, stint.now())
     where f.id = any(flows);
  end if;
  if failed is not null and cancels then
    update stint.flow as f
       set cancel_at     = stint.now(),
           cancel_reason = 'another child of the set failed'
     where f.id = any(flows)
       and f.ended_at is null
       and f.cancel_at is null;
  end if;
  return next;
end
$function$;

CREATE OR REPLACE FUNCTION stint.made_at(id uuid)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ select to_timestamp(('x' || substr(translate(id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0) $function$;

CREATE OR REPLACE FUNCTION stint.mail_lock(job uuid)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$ select hashtextextended('stint:mail:' || job, 0) $function$;

CREATE OR REPLACE FUNCTION stint.measure_pressure(of_queue text, max_depth double precision, key_max_depth double precision, OUT depth bigint, OUT is_estimate boolean, OUT oldest_ready_at timestamp with time zone, OUT keys jsonb)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  most    constant integer := case when key_max_depth is not null then 50000
                                   else least(coalesce(2 * max_depth + 1, 10000), 50000) end;
  counted record;
  gauge   record;
begin
  select * into counted from stint.count_waiting(of_queue, most, key_max_depth is not null);
  depth := counted.jobs;
  is_estimate := counted.jobs >= most;
  oldest_ready_at := counted.oldest_ready_at;
  keys := counted.keys;
  if is_estimate then
    select g.ready + g.scheduled + g.retrying + g.waiting as jobs, g.oldest_ready_at into gauge
      from stint.queue_gauge as g
     where g.queue = of_queue;
    depth := greatest(depth, gauge.jobs);
    oldest_ready_at := least(oldest_ready_at, gauge.oldest_ready_at);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION stint.milliseconds(value jsonb)
 RETURNS interval
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if jsonb_typeof(value) is distinct from 'number' then
    return null;
  end if;
  return least(greatest(value::numeric, 0), 315576000000)::float8 * interval '1 millisecond';
end
$function$;

CREATE OR REPLACE FUNCTION stint.most_cost(of_queue text, of_kinds jsonb)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  select jsonb_object_agg(each.kind, each.most)
    from (select kind.name as kind, min(rate.burst - rate.keep) as most
            from stint.limit_cover as cover
            join stint.rate on rate.name = cover.name
            join jsonb_object_keys(of_kinds) as kind (name) on cover.kinds is null or kind.name = any(cover.kinds)
           where cover.queue = of_queue
             and cover.type = 'rate'
           group by kind.name) as each
$function$;

CREATE OR REPLACE FUNCTION stint.next_seq(seq bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select (coalesce(seq, 0) + 1) % 9000000000000000000
$function$;

CREATE OR REPLACE FUNCTION stint.note_audit(id uuid, actor text, role text, origin text, action text, target text, outcome text, reason text, before jsonb, after jsonb, operation_id uuid, request_id text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
BEGIN ATOMIC
 INSERT INTO stint.audit (id, at, login, actor, role, origin, action, target, outcome, reason, before, after, operation_id, request_id)
   VALUES (note_audit.id, stint.now(), SESSION_USER, note_audit.actor, note_audit.role, note_audit.origin, note_audit.action, note_audit.target, note_audit.outcome, note_audit.reason, note_audit.before, note_audit.after, note_audit.operation_id, note_audit.request_id) ON CONFLICT DO NOTHING;
END;

CREATE OR REPLACE FUNCTION stint.note_enqueued(process uuid, flush integer, rows jsonb)
 RETURNS timestamp with time zone
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
BEGIN ATOMIC
 INSERT INTO stint.stat_minute AS known (minute, queue, kind, process, flush, enqueued)  SELECT said.minute,
             said.queue,
             said.kind,
             note_enqueued.process AS process,
             note_enqueued.flush AS flush,
             LEAST(said.enqueued, (1000000000)::bigint) AS "least"
            FROM jsonb_to_recordset(note_enqueued.rows) said(minute timestamp with time zone, queue text, kind text, enqueued bigint)
           WHERE ((note_enqueued.process <> ALL (ARRAY['00000000-0000-0000-0000-000000000000'::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid])) AND ((said.minute >= (stint.now() - '1 day'::interval)) AND (said.minute <= (stint.now() + '01:00:00'::interval))) AND (said.minute = date_trunc('minute'::text, said.minute)) AND (said.enqueued > 0) AND (octet_length(said.queue) <= 128) AND (said.queue ~ '^([A-Za-z0-9_][A-Za-z0-9_.:/%-]*|\(others\))$'::text) AND (octet_length(said.kind) <= 128) AND (said.kind ~ '^([A-Za-z0-9_][A-Za-z0-9_.:/%-]*|\(others\))$'::text)) ON CONFLICT ON CONSTRAINT stat_minute_pkey DO UPDATE SET flush = excluded.flush, enqueued = excluded.enqueued
   WHERE (known.flush < excluded.flush);
 SELECT stint.now() AS now;
END;

CREATE OR REPLACE FUNCTION stint.note_node_endings(changes jsonb)
 RETURNS TABLE(queue text, priority smallint, key text)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  parents  uuid[];
  children uuid[];
  are_over boolean[];
  fail     boolean[];
begin
  with noted as (
    update stint.flow as f
       set open_nodes = f.open_nodes - c.completed,
           ended_at   = coalesce(f.ended_at, case when f.open_nodes <= c.completed then stint.now() end)
      from jsonb_to_recordset(changes) as c (flow_id uuid, completed integer, ends boolean, dies boolean)
     where f.id = c.flow_id
    returning f.id, f.parent_id, c.dies, case f.type when 'children' then c.ends else f.open_nodes <= 0 end as is_over
  )
  select array_agg(n.parent_id), array_agg(n.id), array_agg(n.is_over), array_agg(n.dies)
    from noted as n
   where n.parent_id is not null
     and (n.is_over or n.dies)
    into parents, children, are_over, fail;
  if parents is null then
    return;
  end if;
  -- By id, and the state as text: the planner takes the index of waiting jobs for empty, and compared each with each.
  return query
  with woken as (
    update stint.job as j
       set state  = 'ready',
           run_at = stint.now()
     where j.id = any(parents)
       and j.state::text = 'waiting'
       and exists (select
                     from unnest(parents, children, are_over, fail) as w (parent_id, flow_id, is_over, fails)
                    where w.parent_id = j.id
                      and case j.waits -> 'flows' ->> w.flow_id::text when 'ended' then w.is_over when 'failed' then w.fails when 'dead' then true end)
    returning j.queue::text, j.priority, j.key
  )
  select distinct w.queue, w.priority, w.key from woken as w;
end
$function$;

CREATE OR REPLACE FUNCTION stint.note_refused(refused jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  said record;
begin
  for said in
    select queue.name, least(stint.rule_number(refused, queue.name), 1e9)::bigint as jobs
      from stint.queue
     where queue.name = any(array(select jsonb_object_keys(refused) limit 1000))
       and (queue.pressure is not null or not queue.takes_jobs)
     order by queue.name
  loop
    continue when said.jobs is null;
    insert into stint.queue_pressure as total (queue, refused)
    values (said.name, said.jobs)
    on conflict on constraint queue_pressure_pkey do update
       set refused = least(total.refused, 1000000000000000) + excluded.refused;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION stint.now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$select statement_timestamp()$function$;

CREATE OR REPLACE FUNCTION stint.old_days()
 RETURNS TABLE(parent text, day_table text, is_attached boolean, is_pending boolean, is_ours boolean)
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select split_part(relname, '_', 1), relname::text,
         inhrelid is not null, coalesce(inhdetachpending, false), pg_has_role(relowner, 'usage')
    from pg_class
    left join pg_inherits on inhrelid = pg_class.oid
   where relnamespace = (select relnamespace from pg_class where oid = 'stint.job'::regclass)
     and relkind = 'r'
     and relname ~ '^(finished|attempt|log)_[0-9]{8}$'
     and (inhrelid is not null or obj_description(pg_class.oid, 'pg_class') = 'to be dropped by Stint')
     and (to_date(right(relname, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'utc' <= stint.history_start()
   order by right(relname, 8), relname
$function$;

CREATE OR REPLACE FUNCTION stint.pick_limited(p_queue text, p_kinds jsonb, p_limit integer, p_keys text[], p_priorities smallint[], p_floor_ats timestamp with time zone[], p_floor_ids uuid[], p_takes integer[], p_ordered boolean[], OUT picked uuid[], OUT note jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET lock_timeout TO '2s'
AS $function$
#variable_conflict use_column
declare
  used       jsonb;
  has_both   boolean := true = any(p_ordered) and false = any(p_ordered);
  found_jobs integer;
  room_left  integer;
  closed     text[];
  gaps       jsonb;
  seen_ids   uuid[];
  seen_keys  text[];
  wait_ms    double precision;
  most_cost  jsonb;
  allowed    integer;
  dry        jsonb;
  dry_jobs   integer;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'limits need read committed, not %', current_setting('transaction_isolation') using errcode = 'ST004';
  end if;
  perform stint.lock_limits(p_queue, p_keys);
  if exists (select from stint.queue where name = p_queue and paused_until > stint.now()) then
    note := '{}';
    return;
  end if;
  perform stint.rebase(p_queue);
  used := stint.used_of(p_queue, p_keys);
  most_cost := stint.most_cost(p_queue, p_kinds);

  with rule as materialized (
    select * from stint.limits_of(p_queue)
  ), whole as materialized (
    -- What the limits of the whole queue leave.
    select min(greatest(rule.max - coalesce((used ->> rule.name)::integer, 0), 0)) as room
      from rule
     where not rule.by_key
       and rule.kinds is null
  ), open as materialized (
    select lane.*,
           least(lane.take, case when lane.is_ordered then 1 end,
                 (select min(coalesce(own.max, stint.tier_max(rule.tiers, own.tier), rule.max)
                             - coalesce((used ->> (rule.name || ' ' || lane.key))::integer, 0))
                    from rule
                    left join stint.limit_key as own on own.name = rule.name and own.key = lane.key and own.until > stint.now()
                   where rule.by_key
                     and rule.kinds is null
                     and lane.key is not null)) as room
      from unnest(p_keys, p_priorities, p_floor_ats, p_floor_ids, p_takes, p_ordered)
             as lane (key, priority, floor_at, floor_id, take, is_ordered)
  ), seen as materialized (
    select mine.id, mine.kind, mine.cost, open.key, row_number() over () as place
      from open
     cross join lateral (
             select keyed.*
               from (select job.id, job.kind, coalesce((job.options ->> 'cost')::integer, 1) as cost
                       from stint.job
                      where job.queue = p_queue
                        and job.key = open.key
                        and job.key is not null
                        and job.state = 'ready'
                        and job.priority = open.priority
                        and (job.run_at, job.id) > (open.floor_at, open.floor_id)
                        and job.version <= (p_kinds ->> job.kind)::smallint
                        and (most_cost is null or coalesce((job.options ->> 'cost')::integer, 1) <= coalesce((most_cost ->> job.kind)::float8, 1e9))
                        and (job.options ? 'ordered') is not true
                        and not open.is_ordered
                      order by job.run_at, job.id
                      limit greatest(open.room, 0)
                        for update skip locked) as keyed
             union all
             select plain.*
               from (select job.id, job.kind, coalesce((job.options ->> 'cost')::integer, 1) as cost
                       from stint.job
                      where job.queue = p_queue
                        and job.key is null
                        and job.state = 'ready'
                        and job.priority = open.priority
                        and (job.run_at, job.id) > (open.floor_at, open.floor_id)
                        and job.version <= (p_kinds ->> job.kind)::smallint
                        and (most_cost is null or coalesce((job.options ->> 'cost')::integer, 1) <= coalesce((most_cost ->> job.kind)::float8, 1e9))
                        and open.key is null
                      order by job.run_at, job.id
                      limit greatest(open.room, 0)
                        for update skip locked) as plain
             union all
             -- The first live job of the key, looked at without a lock: skip locked would pass over one that runs inside ctx.tx.
             select head.id, head.kind, head.cost
               from (select job.id, job.kind, coalesce((job.options ->> 'cost')::integer, 1) as cost, job.state, job.version
                       from stint.job
                      where job.queue = p_queue
                        and job.key = open.key
                        and job.options ? 'ordered'
                        and (job.created_at, job.id) > (open.floor_at, open.floor_id)
                        and open.is_ordered
                      order by job.created_at, job.id
                      limit 1) as head
              cross join lateral (
                      select
                        from stint.job
                       where job.id = head.id
                         and job.state = head.state
                         for update skip locked) as held
              where head.state = 'ready'
                and head.version <= (p_kinds ->> head.kind)::smallint
                and (most_cost is null or head.cost <= coalesce((most_cost ->> head.kind)::float8, 1e9))) as mine
     where open.room > 0
     limit least(p_limit, (select room from whole))
  ), within as materialized (
    -- Limits of some kinds cut what was seen, in turn. So do limits by key where a key has two lanes.
    select *
      from seen
     where seen.id <> all(array(
             select ranked.id
               from (select seen.id,
                            row_number() over (partition by rule.name, case when rule.by_key then seen.key end order by seen.place) as nth,
                            coalesce(own.max, stint.tier_max(rule.tiers, own.tier), rule.max)
                              - coalesce((used ->> (rule.name || case when rule.by_key then ' ' || seen.key else '' end))::integer, 0) as room
                       from seen
                       join rule
                         on (seen.kind = any(rule.kinds) or has_both and rule.by_key and rule.kinds is null)
                        and (not rule.by_key or seen.key is not null)
                       left join stint.limit_key as own
                         on rule.by_key and own.name = rule.name and own.key = seen.key and own.until > stint.now()) as ranked
              where ranked.nth > ranked.room))
  ), asked as materialized (
    select within.id, within.place, within.cost, bucket.*,
           count(*) filter (where within.cost > bucket.have) over (partition by within.id) as lacking
      from within
      join stint.buckets_of(p_queue, p_keys) as bucket
        on (bucket.kinds is null or within.kind = any(bucket.kinds))
       and bucket.key = case when bucket.by_key then coalesce(within.key, '') else '' end
  ), summed as materialized (
    select asked.*,
           sum(case when lacking > 0 and cost <= have then 0 else cost end) over (partition by name, key order by place) as sum
      from asked
  ), refused as materialized (
    select id, key, by_key and key <> '' as is_of_key, burst / 4 / per_ms as quarter,
           greatest((sum - have) / per_ms, extract(epoch from blocked_until - stint.now()) * 1000, 0) as wait
      from summed
     where sum > have
  )
  select array_agg(within.id order by within.place)
           filter (where within.id <> all(array(select refused.id from refused))),
         (select array_agg(distinct open.key)
            from open
           where open.room < open.take
             and open.room <= (select count(*) from seen where seen.key = open.key)),
         (select greatest(min(wait), least(max(wait), min(quarter), 100)) from refused where not is_of_key),
         (select jsonb_object_agg(of_key.key, of_key.ms)
            from (select key, greatest(min(wait), least(max(wait), min(quarter), 100)) as ms
                    from refused
                   where is_of_key
                   group by key) as of_key),
         (select count(*) from (select id from refused group by id having bool_and(is_of_key)) as only_dry),
         count(*), (select count(*) from seen), (select room from whole),
         (select array_agg(seen.id order by seen.place) from seen), (select array_agg(seen.key order by seen.place) from seen)
    into picked, closed, wait_ms, dry, dry_jobs, allowed, found_jobs, room_left, seen_ids, seen_keys
    from within;
  picked := coalesce(picked, '{}');
  if cardinality(picked) between 1 and found_jobs - 1 then
    gaps := (select jsonb_agg(distinct coalesce(held.key, ''))
               from unnest(seen_ids, seen_keys) with ordinality as held (id, key, place)
               join unnest(seen_ids, seen_keys) with ordinality as later (id, key, place)
                 on coalesce(later.key, '') = coalesce(held.key, '') and later.place > held.place
              where held.id <> all(picked)
                and later.id = any(picked));
  end if;

  if cardinality(picked) > 0 and exists (select from stint.limit_cover where queue = p_queue and type = 'rate') then
    with spent as (
      insert into stint.rate_bucket (name, key, seq, tokens, at, taken, refused)
      select bucket.name, bucket.key, stint.next_seq(bucket.seq), greatest(-1e9, bucket.tokens - cost.sum), bucket.at,
             bucket.taken + cost.sum, bucket.refused
        from stint.buckets_of(p_queue, p_keys) as bucket
       cross join lateral (
               select sum(coalesce((job.options ->> 'cost')::integer, 1))
                 from stint.job
                where job.id = any(picked)
                  and (bucket.kinds is null or job.kind = any(bucket.kinds))
                  and (not bucket.by_key or coalesce(job.key, '') = bucket.key)) as cost
       where cost.sum > 0
      returning name, key, seq
    )
    delete from stint.rate_bucket as bucket
     using spent
     where bucket.name = spent.name
       and bucket.key = spent.key
       and bucket.seq = case when spent.seq = 0 then 8999999999999999999 else spent.seq - 1 end;
  end if;
  note := jsonb_strip_nulls(jsonb_build_object(
    'closed', closed, 'dry', dry, 'waitMs', wait_ms, 'gaps', gaps,
    'hasPolicy', nullif((closed is not null or coalesce(room_left <= found_jobs, false) or found_jobs > allowed)
                        and exists (select from stint.limits_of(p_queue) where on_limit <> 'wait'), false),
    'isOnlyRate', nullif(allowed = found_jobs and coalesce(room_left > found_jobs, true), false),
    'isFull', nullif(found_jobs > cardinality(picked) + dry_jobs or coalesce(room_left <= found_jobs, false), false)));
end
$function$;

CREATE OR REPLACE FUNCTION stint.pressure_of(of_queues text[])
 RETURNS TABLE(queue text, takes_jobs boolean, closed_at timestamp with time zone, close_reason text, max_depth double precision, max_age_ms double precision, key_max_depth double precision, when_full text, is_broken boolean, depth double precision, is_estimate boolean, oldest_ms double precision, keys jsonb, counted_at timestamp with time zone, counted_ago_ms double precision, refused double precision)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  perform stint.refresh_pressure(of_queues);
  return query
  with asked as materialized (
    select distinct name
      from unnest(of_queues) as name
     where name is not null
  ), shown as (
    (select queue.name
       from stint.queue
      where queue.pressure is not null
         or not queue.takes_jobs
      order by queue.name
      limit 10000)
    union
    select name from asked
  )
  select shown.name, coalesce(set_for.takes_jobs, true), set_for.closed_at, set_for.close_reason,
         rule.max_depth, rule.max_age_ms, rule.key_max_depth, rule.when_full,
         set_for.pressure is not null and rule.is_broken,
         figure.depth::double precision, figure.is_estimate,
         (extract(epoch from stint.now() - figure.oldest_ready_at) * 1000)::double precision,
         case when rule.key_max_depth is not null then figure.keys end,
         figure.counted_at,
         (extract(epoch from stint.now() - figure.counted_at) * 1000)::double precision,
         coalesce(last.refused, 0)::double precision
    from shown
    left join stint.queue as set_for on set_for.name = shown.name
    left join lateral stint.pressure_rule(set_for.pressure) as rule on set_for.pressure is not null
    left join stint.queue_pressure as last on last.queue = shown.name
    left join lateral (
           select last.depth, last.is_estimate, last.oldest_ready_at, last.keys, last.counted_at
            where rule.is_broken is false
              and last.counted_at is not null
           union all
           select gauge.ready + gauge.scheduled + gauge.retrying + gauge.waiting, true, gauge.oldest_ready_at, null, refresh.refreshed_at
             from stint.queue_gauge as gauge
            cross join stint.gauge_refresh as refresh
            where rule.is_broken is not false
              and gauge.queue = shown.name) as figure on shown.name = any(of_queues);
end
$function$;

CREATE OR REPLACE FUNCTION stint.pressure_rule(pressure jsonb, OUT max_depth double precision, OUT max_age_ms double precision, OUT key_max_depth double precision, OUT when_full text, OUT is_broken boolean)
 RETURNS record
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when read.is_sound then read.max_depth end,
         case when read.is_sound then read.max_age_ms end,
         case when read.is_sound then read.key_max_depth end,
         case when read.is_sound then pressure ->> 'whenFull' end,
         not read.is_sound
    from (select maximum.*,
                 jsonb_typeof(pressure) = 'object'
                   and coalesce(pressure ->> 'whenFull' in ('reject', 'shed', 'warn'), false)
                   and num_nonnulls(maximum.max_depth, maximum.max_age_ms, maximum.key_max_depth)
                       = (select count(*)
                            from unnest(array['maxDepth', 'maxAgeMs', 'keyMaxDepth']) as name
                           where jsonb_typeof(pressure -> name) <> 'null')
                   and num_nonnulls(maximum.max_depth, maximum.max_age_ms, maximum.key_max_depth) > 0 as is_sound
            from (select stint.rule_number(pressure, 'maxDepth') as max_depth,
                         stint.rule_number(pressure, 'maxAgeMs') as max_age_ms,
                         stint.rule_number(pressure, 'keyMaxDepth') as key_max_depth) as maximum) as read
$function$;

CREATE OR REPLACE FUNCTION stint.prune_audit(skip integer, most integer)
 RETURNS integer
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
BEGIN ATOMIC
 WITH gone AS (
          DELETE FROM stint.audit
           WHERE (audit.ctid = ANY (ARRAY( SELECT audit_1.ctid
                    FROM stint.audit audit_1
                   WHERE (audit_1.at < (stint.now() - ( SELECT retention.audit
                            FROM stint.retention)))
                   ORDER BY audit_1.at, audit_1.id
                  OFFSET prune_audit.skip
                  LIMIT prune_audit.most
                  FOR UPDATE OF audit_1 SKIP LOCKED)))
           RETURNING audit.id
         )
  SELECT (count(*))::integer AS count
    FROM gone;
END;

CREATE OR REPLACE FUNCTION stint.prune_day(day_table text, kept interval, from_page bigint, pages integer, most integer, OUT removed integer, OUT is_held boolean, OUT is_end boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  day_oid oid := (select inhrelid
                    from pg_inherits
                   where inhparent = 'stint.finished'::regclass
                     and inhrelid = to_regclass('stint.' || quote_ident(day_table)));
  -- `kept` covers the queues with this setting and, where it is the default, all queues without a setting.
  others text[] := array(select name from stint.queue where keep_finished <> kept);
  named text[] := array(select name from stint.queue where keep_finished = kept);
  is_default boolean := kept = stint.kept_by_default();
  before timestamptz := stint.now() - greatest(kept, interval '5 minutes');
begin
  removed := 0;
  is_held := false;
  is_end := true;
  if day_oid is null then
    return;
  end if;
  -- The size is read first: the next call looks at rows that are written meanwhile.
  is_end := (from_page + pages) * current_setting('block_size')::bigint >= pg_relation_size(day_oid);
  execute format($q$
    with gone as (
      delete from stint.%1$I
       where ctid = any(array(
               select ctid
                 from stint.%1$I
                where ctid >= %2$L::tid
                  and ctid < %3$L::tid
                  and (queue = any($1) or $2 and queue <> all($3))
                  and finished_at < $4
                limit $5))
      returning id, created_at
    ), without_attempts as (
      delete from stint.attempt
       where job_id = any(array(select id from gone))
         and ended_at >= (select min(created_at) from gone)
    ), without_lines as (
      delete from stint.log
       where job_id = any(array(select id from gone))
         and at >= (select min(created_at) from gone)
    )
    select (select count(*) from gone),
           exists (select
                     from stint.%1$I
                    where ctid >= %2$L::tid
                      and ctid < %3$L::tid
                      and (queue = any($1) or $2 and queue <> all($3))
                      and finished_at >= $4)$q$,
    day_table, format('(%s,0)', from_page), format('(%s,0)', from_page + pages))
    into removed, is_held
    using named, is_default, others, before, most;
end
$function$;

CREATE OR REPLACE FUNCTION stint.queue_rules(of_queues text[])
 RETURNS TABLE(queue text, rules jsonb)
 LANGUAGE plpgsql
 STABLE
AS $function$
#variable_conflict use_column
begin
  return query
  select served.name,
         jsonb_strip_nulls(jsonb_build_object(
           'isLimited', nullif(set_for.is_limited, false),
           'pausedForMs', case when set_for.paused_until = 'infinity' then -1
                               when set_for.paused_until > stint.now()
                               then extract(epoch from least(set_for.paused_until, stint.now() + interval '1 day') - stint.now()) * 1000 end,
           'pausedKinds', (select jsonb_agg(paused.kind)
                             from (select pause.kind
                                     from stint.pause
                                    where pause.queue = served.name and pause.kind <> '' and pause.paused_until > stint.now()
                                    order by pause.kind
                                    limit 1000) as paused),
           'pausedKeys', (select jsonb_agg(paused.key)
                            from (select pause.key
                                    from stint.pause
                                   where pause.queue = served.name and pause.kind = '' and pause.key <> ''
                                     and pause.paused_until > stint.now()
                                   order by pause.key
                                   limit 1000) as paused),
           'pauseEndsInMs', (select extract(epoch from least(min(ending.paused_until), stint.now() + interval '1 day') - stint.now()) * 1000
                               from (select set_for.paused_until
                                     union all
                                     (select pause.paused_until
                                        from stint.pause
                                       where pause.queue = served.name
                                       order by pause.kind, pause.key
                                       limit 2000)) as ending
                              where ending.paused_until > stint.now()
                                and ending.paused_until < 'infinity'),
           -- Bounded: it is read every second. A key with two weights has the higher one.
           'keyWeights', (select jsonb_object_agg(weighed.key, weighed.weight)
                            from (select own.key, max(own.weight) as weight
                                    from stint.limit_cover as cover
                                    join stint.limit_key as own on own.name = cover.name
                                   where cover.queue = served.name and cover.type = 'concurrency'
                                     and own.weight is not null and own.until > stint.now()
                                   group by own.key
                                   order by own.key
                                   limit 1000) as weighed),
           'breakers', (select jsonb_agg(jsonb_build_object(
                                 'name', breaker.name, 'kinds', cover.kinds, 'state', breaker.state, 'counts', breaker.counts, 'probeBy', breaker.probe_by,
                                 'isForced', coalesce(breaker.forced_until > stint.now(), false),
                                 'probeInMs', extract(epoch from greatest(least(coalesce(breaker.probe_at, breaker.probe_until),
                                                                                stint.now() + interval '1 day'), stint.now()) - stint.now()) * 1000))
                          from stint.limit_cover as cover
                          join stint.breaker on breaker.name = cover.name
                         where cover.queue = served.name and cover.type = 'breaker' and breaker.state <> 'closed'),
           'retryBudget', set_for.retry_budget,
           'concurrency', case when set_for.concurrency_until > stint.now() then set_for.concurrency end))
    from unnest(of_queues) as served (name)
    left join stint.queue as set_for on set_for.name = served.name;
end
$function$;

CREATE OR REPLACE FUNCTION stint.rebase(of_queue text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  base record;
  last bigint := (select last_value from stint.claim_order);
begin
  select version, floor, cardinality(ids) as size, made_at into base
    from stint.running_base where queue = of_queue order by version desc limit 1;
  if base.version is null
     or exists (select from stint.limit_cover
                 where queue = of_queue and type = 'concurrency' and since > clock_timestamp() - interval '15 s') then
    -- What was claimed before the limit was set has no number, and some of it may still commit: count everything.
    insert into stint.running_base (queue, version, floor, ids, keys)
    select of_queue, coalesce(base.version, 0) + 1, last, coalesce(array_agg(id), '{}'), coalesce(array_agg(key), '{}')
      from stint.job where state = 'running' and queue = of_queue;
  elsif last - base.floor > 1000 + base.size / 2 and base.made_at < clock_timestamp() - interval '100 ms' then
    insert into stint.running_base (queue, version, floor, ids, keys)
    select of_queue, base.version + 1, last, coalesce(array_agg(id), '{}'), coalesce(array_agg(key), '{}')
      from stint.running_of(of_queue);
  else
    return;
  end if;
  delete from stint.running_base where queue = of_queue and version = base.version;
end
$function$;

CREATE OR REPLACE FUNCTION stint.refresh_pressure(of_queues text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  due record;
begin
  if current_setting('transaction_read_only')::boolean then
    return;
  end if;
  for due in
    select queue.name, rule.max_depth, rule.key_max_depth
      from stint.queue
     cross join lateral stint.pressure_rule(queue.pressure) as rule
      left join stint.queue_pressure as last on last.queue = queue.name
     where queue.name = any(of_queues)
       and queue.pressure is not null
       and not rule.is_broken
       and coalesce(last.counted_at not between stint.now() - interval '2 seconds' and stint.now(), true)
     order by queue.name
  loop
    continue when not pg_try_advisory_xact_lock(hashtextextended('stint.queue_pressure ' || due.name, 0));
    insert into stint.queue_pressure as last (queue, counted_at, depth, is_estimate, oldest_ready_at, keys)
    select due.name, stint.now(), measured.*
      from stint.measure_pressure(due.name, due.max_depth, due.key_max_depth) as measured
    on conflict on constraint queue_pressure_pkey do update
       set counted_at      = excluded.counted_at,
           depth           = excluded.depth,
           is_estimate     = excluded.is_estimate,
           oldest_ready_at = excluded.oldest_ready_at,
           keys            = excluded.keys;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION stint.refuse(field text, problem text, received text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  raise exception 'stint.enqueue: expected % %, got %', field, problem, coalesce(left(received, 200), 'null')
    using errcode = 'invalid_parameter_value', column = field;
end
$function$;

CREATE OR REPLACE FUNCTION stint.refuse_when_full(of_queue text, of_priority double precision, of_key text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  rule  record;
  last  record;
  share double precision;
  full_by text;
begin
  select queue.takes_jobs, queue.close_reason, queue.pressure is not null as has_rule, of_rule.* into rule
    from stint.queue
    left join lateral stint.pressure_rule(queue.pressure) as of_rule on queue.pressure is not null
   where queue.name = of_queue;
  if not found then
    return;
  elsif not rule.takes_jobs then
    raise exception 'The queue "%" is closed and takes no jobs', of_queue
      using errcode = 'ST006', detail = coalesce(rule.close_reason, ''), hint = 'Open it with: stint queue open ' || of_queue;
  elsif not rule.has_rule or rule.is_broken or rule.when_full = 'warn' then
    return;
  end if;

  select p.depth, p.oldest_ready_at, p.keys into last
    from stint.queue_pressure as p
   where p.queue = of_queue
     and p.counted_at between stint.now() - interval '4 seconds' and stint.now();
  if not found then
    select m.depth, m.oldest_ready_at, m.keys into last
      from stint.measure_pressure(of_queue, rule.max_depth, rule.key_max_depth) as m;
  end if;
  share := case when rule.when_full = 'shed' then stint.shed_share(of_priority) else 1 end;
  full_by := case
    when last.depth + 1 > ceil(rule.max_depth * share)
    then format('depth %s of %s', last.depth, rule.max_depth)
    when extract(epoch from stint.now() - last.oldest_ready_at) * 1000 > rule.max_age_ms * share
    then format('its oldest ready job waited %s s of %s s',
                round(extract(epoch from stint.now() - last.oldest_ready_at)), round(rule.max_age_ms / 1000))
    when of_key is not null and coalesce(stint.rule_number(last.keys, of_key), 0) + 1 > ceil(rule.key_max_depth * share)
    then format('key "%s": depth %s of %s', of_key, coalesce(stint.rule_number(last.keys, of_key), 0), rule.key_max_depth)
  end;
  if full_by is not null then
    raise exception 'The queue "%" is full: %', of_queue, full_by
      using errcode = 'ST005', detail = full_by, hint = 'Try again in some seconds, or later than others with a low priority.';
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION stint.rerun_flow(older uuid, from_node text, newer uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  start smallint;
  again smallint[];
begin
  if exists (select from stint.flow as f where f.id = newer) then
    return 'stored';
  end if;
  perform from stint.flow as f where f.id = older;
  if not found then
    return 'not-found';
  end if;
  select n.node from stint.flow_node as n where n.flow_id = older and n.name = from_node into start;
  if start is null then
    return 'no-node';
  end if;
  with recursive edge as (
    select n.node as source, unnest(n.on_succeeded || n.on_ended || n.on_dead) as target
      from stint.flow_node as n
     where n.flow_id = older
  ), behind (node) as (
    select start
     union
    select e.target from behind as b join edge as e on e.source = b.node
  )
  select array_agg(b.node) from behind as b into again;

  insert into stint.flow (id, name, open_nodes, rerun_of)
  select newer, f.name, cardinality(again), older from stint.flow as f where f.id = older;

  insert into stint.flow_node (flow_id, node, name, needs, chances, skips, total, remaining, succeeded, dead, cancelled, needed,
                               is_decided, has_ended, has_died, is_complete, on_succeeded, on_ended, on_dead)
  select newer, n.node, n.name,
         case when redo.is_meant then n.needed - fired.edges else 0 end,
         case when redo.is_meant then fired.later else 0 end,
         n.skips,
         n.total - n.is_open::integer, case when redo.is_meant then n.total - n.is_open::integer else 0 end,
         case when redo.is_meant then 0 else n.succeeded end, case when redo.is_meant then 0 else n.dead end,
         case when redo.is_meant then 0 else n.cancelled end, n.needed,
         not redo.is_meant, not redo.is_meant, not redo.is_meant and n.dead > 0, not redo.is_meant,
         n.on_succeeded, n.on_ended, n.on_dead
    from stint.flow_node as n
   cross join lateral (select n.node = any(again) as is_meant) as redo
   cross join lateral (
           select count(*) filter (where s.node <> all(again) and s.remaining <= 0 and case e.condition
                                           when 'succeeded' then s.dead <= 0 and s.cancelled <= 0
                                           when 'dead' then s.dead > 0
                                           else true end)::smallint as edges,
                  count(*) filter (where s.node = any(again))::smallint as later
             from stint.flow_node as s
            cross join lateral (
                    select 'succeeded' as condition, unnest(s.on_succeeded) as target
                     union all select 'ended', unnest(s.on_ended)
                     union all select 'dead', unnest(s.on_dead)) as e
            where s.flow_id = older
              and e.target = n.node) as fired
   where n.flow_id = older;
  if exists (select from stint.flow_node as n where n.flow_id = newer and n.node = start and n.needs > n.chances) then
    delete from stint.flow_node as n where n.flow_id = newer;
    delete from stint.flow as f where f.id = newer;
    return 'not-ready';
  end if;

  insert into stint.job (
    id, state, queue, kind, key, priority, run_at, max_attempts, version,
    correlation_id, traceparent, tracestate, flow_id, node, member, search, options, waits, cancel_at, cancel_reason,
    input, input_blob)
  select stint.uuid_v7(), case when n.needs between 1 and n.chances then 'waiting' else 'ready' end::stint.job_state,
         old.queue, old.kind, old.key, old.priority,
         case when n.needs between 1 and n.chances then stint.now() + interval '3652.5 days' else stint.now() end,
         old.max_attempts, old.version, old.correlation_id, old.traceparent, old.tracestate,
         newer, n.node, old.member, old.search, old.options,
         case when n.needs between 1 and n.chances then '{"node": true}'::jsonb end,
         -- What it needs did not happen in the older flow: a worker ends it, and what is behind it hears of that.
         case when n.needs > n.chances then stint.now() end,
         case when n.needs > n.chances then 'skipped: a job that it needs did not succeed' end, old.input, old.input_blob
    from stint.flow_node as n
   cross join lateral (
           select j.id, j.queue, j.kind, j.key, j.priority, j.max_attempts, j.version, j.correlation_id, j.traceparent, j.tracestate,
                  j.member, j.search, j.options, j.input, j.input_blob
             from stint.job as j
            where j.flow_id = older and j.node = n.node
            union all
           select j.id, j.queue, j.kind, j.key, j.priority, j.max_attempts, j.version, j.correlation_id, j.traceparent, j.tracestate,
                  j.member, j.search, j.options, j.input, j.input_blob
             from stint.finished as j
            where j.flow_id = older and j.node = n.node and j.flow_id is not null
            union all
           select j.id, j.queue, j.kind, j.key, j.priority, j.max_attempts, j.version, j.correlation_id, j.traceparent, j.tracestate,
                  j.member, j.search, j.options, j.input, j.input_blob
             from stint.dead as j
            where j.flow_id = older and j.node = n.node and j.flow_id is not null and j.replaced_by is null) as old
   where n.flow_id = newer
     and n.node = any(again)
   order by n.node, old.member, old.id;
  if exists (select
               from stint.flow_node as n
              where n.flow_id = newer
                and n.node = any(again)
                and n.total <> (select count(*) from stint.job as j where j.flow_id = newer and j.node = n.node)) then
    delete from stint.job as j where j.flow_id = newer;
    delete from stint.flow_node as n where n.flow_id = newer;
    delete from stint.flow as f where f.id = newer;
    return 'no-jobs';
  end if;
  -- The input in the blob store belongs to the newest job that has it.
  update stint.blob as b
     set job_id = j.id
    from stint.job as j
   where j.flow_id = newer
     and j.input_blob = b.key;

  insert into stint.flow_output (flow_id, node, member, job_id, state, result, error)
  select newer, o.node, o.member, o.job_id, o.state, o.result, o.error
    from stint.flow_output as o
   where o.flow_id = older
     and o.node <> all(again);
  return 'stored';
end
$function$;

CREATE OR REPLACE FUNCTION stint.rule_number(rule jsonb, name text)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when jsonb_typeof(rule -> name) = 'number'
              then case when (rule ->> name)::numeric between 1 and 1e12 then (rule ->> name)::double precision end end
$function$;

CREATE OR REPLACE FUNCTION stint.running_of(of_queue text)
 RETURNS TABLE(id uuid, key text, kind text)
 LANGUAGE sql
 STABLE
AS $function$
  with base as materialized (
    select floor, ids from stint.running_base where queue = of_queue order by version desc limit 1
  )
  select job.id, job.key, job.kind
    from stint.job
   where job.queue = of_queue
     and job.state = 'running'
     and job.claim_seq is not null
     and job.claim_seq > (select floor from base)
  union all
  select job.id, job.key, job.kind
    from stint.job
   where job.id = any(array(select unnest(ids) from base))
     and job.lease_id is not null
     and job.queue = of_queue
     and coalesce(job.claim_seq, 0) <= (select floor from base)
$function$;

CREATE OR REPLACE FUNCTION stint.running_of_keys(of_queue text, of_keys text[])
 RETURNS TABLE(id uuid, key text, kind text)
 LANGUAGE sql
 STABLE
AS $function$
  with base as materialized (
    select floor, ids, keys from stint.running_base where queue = of_queue order by version desc limit 1
  ), lane as materialized (
    select distinct lane.key from unnest(of_keys) as lane (key) where lane.key is not null
  ), since as materialized (
    select job.id, job.key, job.kind
      from stint.job
     where job.queue = of_queue
       and job.state = 'running'
       and job.claim_seq is not null
       and job.claim_seq > (select floor from base)
  )
  select since.id, since.key, since.kind
    from since
    join lane on lane.key = since.key
  union all
  select job.id, job.key, job.kind
    from stint.job
   where job.id = any(array(
           select old.id
             from base
            cross join unnest(base.ids, base.keys) as old (id, key)
             join lane on lane.key = old.key))
     and job.lease_id is not null
     and job.queue = of_queue
     and coalesce(job.claim_seq, 0) <= (select floor from base)
$function$;

CREATE OR REPLACE FUNCTION stint.shed_share(priority double precision)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select 0.75 + 0.25 * sign(priority) * sqrt(least(abs(priority), 100) / 100)
$function$;

CREATE OR REPLACE FUNCTION stint.signal(job uuid, name text, payload jsonb DEFAULT '{}'::jsonb, key text DEFAULT NULL::text, by text DEFAULT NULL::text, as_id uuid DEFAULT NULL::uuid, OUT outcome text, OUT signal_id uuid, OUT queue text, OUT priority smallint, OUT job_key text)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  if job is null then
    perform stint.refuse('job', 'to be the id of a job', null);
  elsif name is null or octet_length(name) > 128 or name !~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$' then
    perform stint.refuse('name', 'to be a name of 1 to 128 letters, digits and _ . : / %% -', name);
  elsif payload is null then
    perform stint.refuse('payload', 'to be JSON', null);
  elsif octet_length(payload::text) > 65536 then
    perform stint.refuse('payload', 'to be at most 64 KiB', format('%s bytes', octet_length(payload::text)));
  elsif octet_length(key) not between 1 and 512 then
    perform stint.refuse('key', 'to be a string of 1 to 512 bytes', left(key, 80));
  elsif octet_length(by) > 512 then
    perform stint.refuse('by', 'to be a string of at most 512 bytes', left(by, 80));
  end if;
  perform pg_advisory_xact_lock(stint.mail_lock(signal.job));
  if not exists (select from stint.job as j where j.id = signal.job)
     and not exists (select from stint.dead as d where d.id = signal.job and d.discarded_at is null) then
    outcome := case when exists (select from stint.finished as f where f.id = signal.job) then 'ended' else 'not-found' end;
    return;
  elsif (select count(*)
           from (select
                   from stint.signal as s
                  where s.job_id = signal.job
                    and s.taken_by is null
                  limit 1000) as untaken) >= 1000 then
    outcome := 'full';
    return;
  end if;
  signal_id := coalesce(signal.as_id, stint.uuid_v7());
  insert into stint.signal as s (id, job_id, name, key, payload, sent_by)
  values (signal.signal_id, signal.job, signal.name, signal.key, signal.payload, signal.by)
      on conflict do nothing;
  if not found then
    outcome := case when exists (select from stint.signal as s where s.id = signal.as_id) then 'sent' else 'duplicate' end;
    if outcome = 'sent' then return; end if;
    signal_id := (select s.id from stint.signal as s where s.job_id = signal.job and s.name = signal.name and s.key = signal.key);
    return;
  end if;
  outcome := 'sent';
  -- The state as text: the planner takes the index of waiting jobs for empty, and would read all of it.
  update stint.job as j
     set state  = 'ready',
         run_at = stint.now()
   where j.id = signal.job
     and j.state::text = 'waiting'
     and stint.is_awaited(j.waits, signal.name, signal.payload)
  returning j.queue, j.priority, j.key into signal.queue, signal.priority, signal.job_key;
end
$function$;

CREATE OR REPLACE FUNCTION stint.store_flow_jobs(given jsonb, stored uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  insert into stint.job (
    id, state, queue, kind, key, priority, run_at, max_attempts, version,
    correlation_id, traceparent, tracestate, parent_id, flow_id, node, member, deadline_at, search, options, waits,
    input, input_blob)
  select job.id,
         case when n.needs > 0 then 'waiting' when due.at > stint.now() then 'scheduled' else 'ready' end::stint.job_state,
         g.queue, g.kind, g.key, g.priority,
         case when n.needs > 0 then stint.now() + interval '3652.5 days' else due.at end,
         g."maxAttempts", g.version, g."correlationId", g.traceparent, g.tracestate, g."parentId",
         f.id, coalesce(n.node, n.place - 1), job.place + coalesce(n."placeFrom", 0),
         coalesce(g."deadlineAt", case when n.needs <= 0 then due.at + g."deadlineMs" * interval '1 millisecond' end),
         g.tokens, g.options,
         case when n.needs > 0 then jsonb_strip_nulls(jsonb_build_object(
                'node', true, 'delayMs', g."delayMs", 'deadlineMs', case when g."deadlineAt" is null then g."deadlineMs" end)) end,
         case when g."inputBlob" is null then job.input end, g."inputBlob"
    from jsonb_to_recordset(given) as f (id uuid, nodes jsonb)
   cross join lateral rows from (
           jsonb_to_recordset(f.nodes) as (needs smallint, node smallint, "placeFrom" integer, groups jsonb))
         with ordinality as n (needs, node, "placeFrom", groups, place)
   cross join lateral jsonb_to_recordset(n.groups) as g (
           queue text, kind text, key text, priority smallint, "runAt" timestamptz, "delayMs" float8,
           "maxAttempts" integer, version smallint, "correlationId" text, traceparent text, tracestate text,
           "parentId" uuid, "deadlineAt" timestamptz, "deadlineMs" float8, tokens text[], options jsonb,
           ids uuid[], places integer[], inputs jsonb, "inputBlob" text)
   cross join lateral (
           select coalesce(g."runAt", stint.now() + g."delayMs" * interval '1 millisecond', stint.now()) as at) as due
   cross join lateral rows from (unnest(g.ids), unnest(g.places), jsonb_array_elements(g.inputs)) as job (id, place, input)
   where f.id = any(stored);

  insert into stint.blob (key, job_id)
  select g.value ->> 'inputBlob', (g.value -> 'ids' ->> 0)::uuid
    from jsonb_to_recordset(given) as f (id uuid, nodes jsonb)
   cross join lateral jsonb_array_elements(f.nodes) as n
   cross join lateral jsonb_array_elements(n.value -> 'groups') as g
   where f.id = any(stored)
     and g.value ? 'inputBlob'
  on conflict do nothing;
end
$function$;

CREATE OR REPLACE FUNCTION stint.suspend(said jsonb, by_worker uuid)
 RETURNS TABLE(type text, id uuid, queue text, priority smallint, key text, "runAt" text)
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_column
declare
  own     uuid[];
  unheard uuid[];
  flows   uuid[];
begin
  own := array(
    select mine.id
      from jsonb_to_recordset(said) as s (id uuid, lease uuid)
     cross join lateral (
             select job.id
               from stint.job
              where job.id = s.id
                and job.lease_id = s.lease
                for no key update) as mine);
  unheard := array(
    select s.id
      from jsonb_to_recordset(said) as s (id uuid, waits jsonb)
     where s.waits ? 'signals'
       and not pg_try_advisory_xact_lock(stint.mail_lock(s.id)));
  flows := array(
    select f.id
      from stint.flow as f
     where f.id = any(array(
             select wait.flow_id::uuid
               from jsonb_to_recordset(said) as s (id uuid, waits jsonb)
              cross join lateral jsonb_object_keys(s.waits -> 'flows') as wait (flow_id)
              where s.id = any(own)))
     order by f.id
       for no key update);
  if cardinality(flows) > 0 then
    return query
    select c.type, c.id, c.queue, c.priority, c.key, null::text from stint.count_endings(flows) as c where c.type = 'ready';
  end if;
  insert into stint.job_watch (target_id, job_id)
  select distinct target.id::uuid, s.id
    from jsonb_to_recordset(said) as s (id uuid, waits jsonb)
   cross join lateral jsonb_array_elements_text(s.waits -> 'jobs') as target (id)
   where s.id = any(own)
      on conflict do nothing;
  return query
    with item as materialized (
      select s.*,
             exists (select
                       from stint.signal
                      where signal.job_id = s.id
                        and signal.taken_by is null
                        and stint.is_awaited(s.waits, signal.name, signal.payload))
             or case when s.waits ?| array['flows', 'jobs'] then stint.is_wait_over(s.waits) else false end as is_there
        from jsonb_to_recordset(said) as s (id uuid, lease uuid, waits jsonb, "untilMs" float8, "untilAt" timestamptz, "ranMs" float8,
                                                  reason text)
       where s.id = any(own)
    ), back as (
      update stint.job as j
         set state       = case when item.is_there or j.cancel_at is not null then 'ready' else 'waiting' end::stint.job_state,
             run_at      = case when item.is_there or j.cancel_at is not null then stint.now()
                                else greatest(stint.now(), least(
                                       stint.now() + interval '10 years',
                                       item."untilAt",
                                       stint.now() + item."untilMs" * interval '1 millisecond',
                                       case when item.id = any(unheard) then stint.now() + interval '500 ms' end)) end,
             waits       = item.waits,
             attempt     = j.attempt - 1,
             crashes     = 0,
             suspect     = false,
             deadline_at = null,
             worker_id   = null,
             lease_id    = null,
             started_at  = null
        from item
       where j.id = item.id
         and j.lease_id = item.lease
      returning j.id, j.queue, j.kind, j.key, j.priority, j.state, j.epoch, j.attempt + 1 as attempt, j.run_at,
                item.lease, item."ranMs", item.reason
    ), noted as (
      insert into stint.attempt (job_id, epoch, attempt, outcome, worker_id, lease_id, started_at, ended_at, reason)
      select back.id, back.epoch, back.attempt, 'waiting', by_worker, back.lease,
             stint.now() - back."ranMs" * interval '1 millisecond', stint.now(), back.reason
        from back
    )
    select case when back.state = 'ready' then 'ready' else 'waiting' end, back.id, back.queue::text, back.priority, back.key,
           (back.run_at at time zone 'utc')::text
      from back;
end
$function$;

CREATE OR REPLACE FUNCTION stint.take_key(scope text, key text, job_id uuid, digest bytea, hold interval, OUT holder uuid, OUT same_input boolean)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  for try in 1 .. 100 loop
    insert into stint.idempotency_key as k (scope, key, job_id, digest, expires_at)
    values (take_key.scope, take_key.key, take_key.job_id, take_key.digest, stint.now() + hold)
    on conflict on constraint idempotency_key_pkey do update
       set job_id = excluded.job_id,
           digest = excluded.digest,
           created_at = excluded.created_at,
           expires_at = excluded.expires_at
     where k.expires_at <= stint.now()
    returning k.job_id, true into holder, same_input;
    exit when holder is not null;

    select k.job_id, k.digest = take_key.digest
      into holder, same_input
      from stint.idempotency_key k
     where k.scope = take_key.scope
       and k.key = take_key.key;
    exit when holder is not null;                          -- null: deleted between the two statements, take it again
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION stint.take_tokens(of_name text, of_key text, wanted double precision, least_wanted double precision, max_wait_ms double precision, for_job boolean, more_refused integer, OUT granted double precision, OUT wait_ms double precision, OUT closed_ms double precision, OUT per_ms double precision, OUT most double precision, OUT by_key boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  rule    stint.rate;
  last    stint.rate_bucket;
  have    double precision;
  keep    double precision;
  at_time timestamptz;
begin
  if (least_wanted >= 1 and wanted between least_wanted and 1e9 and max_wait_ms between 0 and 86400000
      and more_refused >= 0 and for_job is not null) is not true then
    raise exception 'tokens, times and counts must be positive and in bounds' using errcode = '22023';
  end if;
  select * into rule from stint.rate as r where r.name = of_name;
  if rule.name is null then
    raise exception 'no rate is named %', of_name using errcode = 'ST003';
  end if;
  by_key := rule.by_key;
  of_key := case when by_key then of_key else '' end;
  keep := case when for_job then rule.keep else 0 end;
  most := rule.burst - keep;
  per_ms := stint.tokens_per_ms(rule.tokens, rule.period_ms, rule.override_tokens, rule.override_until);
  granted := 0;
  closed_ms := 0;
  if least_wanted > most then
    return;
  end if;
  -- It does not wait for the disk: what a crash of the server forgets is some milliseconds of tokens, given once more.
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(stint.bucket_lock(of_name, of_key));
  select * into last from stint.rate_bucket as b where b.name = of_name and b.key = of_key order by b.seq desc limit 1;
  -- This statement may have begun before the last one, which waited for the lock: time does not go back.
  at_time := greatest(stint.now(), last.at);
  have := least(rule.burst, coalesce(last.tokens + extract(epoch from at_time - last.at) * 1000 * per_ms, rule.burst));
  closed_ms := greatest(0, extract(epoch from last.blocked_until - stint.now()) * 1000);
  max_wait_ms := case when keep > 0 then 0 else max_wait_ms end;
  granted := case when have - keep >= least_wanted then greatest(least_wanted, least(wanted, floor(have - keep)))
                  when closed_ms + (wanted - have) / per_ms <= max_wait_ms then wanted
                  else least_wanted end;
  wait_ms := closed_ms + greatest(0, (granted + keep - have) / per_ms);
  if wait_ms > max_wait_ms then
    granted := 0;
    return;
  end if;
  insert into stint.rate_bucket (name, key, seq, tokens, at, blocked_until, taken, refused)
  values (of_name, of_key, stint.next_seq(last.seq), greatest(-1e9, have - granted), at_time,
          case when closed_ms > 0 then last.blocked_until end,
          coalesce(last.taken, 0) + granted, coalesce(last.refused, 0) + more_refused);
  delete from stint.rate_bucket as b where b.name = of_name and b.key = of_key and b.seq = last.seq;
end
$function$;

CREATE OR REPLACE FUNCTION stint.tier_max(tiers jsonb, tier text)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select case when jsonb_typeof(tiers -> tier) = 'number'
              then greatest(0, least(2147483647, floor((tiers ->> tier)::numeric)))::integer end
$function$;

CREATE OR REPLACE FUNCTION stint.tokens_per_ms(tokens double precision, period_ms double precision, override_tokens double precision, override_until timestamp with time zone)
 RETURNS double precision
 LANGUAGE sql
 STABLE PARALLEL SAFE
AS $function$
  select greatest(1e-3, least(1e9, case when override_until > stint.now() then coalesce(override_tokens, tokens) else tokens end))
           / greatest(1, least(315576000000, period_ms))
$function$;

CREATE OR REPLACE FUNCTION stint.used_of(of_queue text, of_keys text[])
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  counts jsonb;
begin
  with cover as materialized (
    select cover.queue, cover.kinds, rule.name, rule.by_key
      from stint.limits_of(of_queue) as rule
      join stint.limit_cover as cover on cover.type = 'concurrency' and cover.name = rule.name
  ), running as materialized (
    select served.queue, r.key, r.kind
      from (select distinct queue from cover where (select bool_and(by_key) from cover)) as served
     cross join lateral stint.running_of_keys(served.queue, of_keys) as r
    union all
    select served.queue, r.key, r.kind
      from (select distinct queue from cover where not (select bool_and(by_key) from cover)) as served
     cross join lateral stint.running_of(served.queue) as r
  )
  select jsonb_object_agg(counted.name, counted.jobs)
    into counts
    from (select cover.name || case when cover.by_key then ' ' || running.key else '' end as name, count(*) as jobs
            from running
            join cover on cover.queue = running.queue and (cover.kinds is null or running.kind = any(cover.kinds))
           group by 1) as counted
   where counted.name is not null;
  return coalesce(counts, '{}');
end
$function$;

CREATE OR REPLACE FUNCTION stint.uuid_v7()
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
AS $function$
  select encode(
    set_bit(set_bit(                                       -- version 4, 0100, becomes 7, 0111
      overlay(
        uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        from 1 for 6),
      52, 1), 53, 1),
    'hex')::uuid
$function$;

CREATE OR REPLACE FUNCTION stint.wanted_of(of_worker uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
AS $function$ begin return (select worker.wanted from stint.worker where worker.id = of_worker); end $function$;
