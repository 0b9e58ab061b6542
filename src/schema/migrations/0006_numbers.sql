-- Numbers: what happened per minute, what each queue has now, and errors that are the same.
--
-- No row here is changed once per job. Endings are appended by the statement that ends the jobs; the rest every process
-- counts in memory and writes to its own rows every few seconds, as totals and not as differences: a statement that is sent
-- again, or arrives late, changes nothing.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- Counts of endings, written by the statement that ends the jobs, so that a killed worker loses none.
--
-- One row for each statement, queue and kind, appended and never changed: jobs wait for no counter row, and a held snapshot
-- slows none down. Workers move the rows to stat_minute every few seconds (src/stats/write/count-settled.sql).
create table stint.stat_settle (
  minute          timestamptz     not null,
  queue           text collate "C" not null,
  kind            text collate "C" not null,
  succeeded       integer         not null default 0,
  failed          integer         not null default 0,
  dead            integer         not null default 0,
  lease_expired   integer         not null default 0,
  cancelled       integer         not null default 0,
  snoozed         integer         not null default 0,
  released        integer         not null default 0,
  crashed         integer         not null default 0,
  attempts        bigint          not null default 0                -- total attempts of the jobs that succeeded
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create index stat_settle_minute on stint.stat_settle (minute);

-- The row of the current minute is rewritten every few seconds, hence the fillfactor.
create table stint.stat_minute (
  minute          timestamptz     not null,
  queue           text collate "C" not null,
  kind            text collate "C" not null,
  process         uuid            not null,                         -- the worker or client that counted
  flush           integer         not null,                         -- an older write never replaces a newer one
  enqueued        bigint          not null default 0,
  started         bigint          not null default 0,
  succeeded       bigint          not null default 0,
  failed          bigint          not null default 0,               -- failed attempts that are followed by another
  dead            bigint          not null default 0,
  lease_expired   bigint          not null default 0,               -- jobs taken back from lost workers
  refused         bigint          not null default 0,               -- late settles of workers that had lost their lease
  moved           bigint          not null default 0,               -- retries that were put off by a retry budget
  cancelled       bigint          not null default 0,
  snoozed         bigint          not null default 0,
  released        bigint          not null default 0,
  crashed         bigint          not null default 0,
  attempts        bigint          not null default 0,               -- total attempts of the jobs that succeeded
  wait            jsonb           not null default '{}',            -- run_at to start: bin to count, see core/histogram.ts
  run             jsonb           not null default '{}',            -- start to end of an attempt, in the same form
  constraint stat_minute_pkey primary key (minute, queue, kind, process)
) with (fillfactor = 80);

-- Minutes to roll up. A rolled-up minute has one row for all processes, that of the nil process.
create index stat_minute_raw on stint.stat_minute (minute) where process <> '00000000-0000-0000-0000-000000000000';

-- How producers report what they enqueued: they may not read any table, and an upsert reads. Rows that no client of Stint
-- sends are left out: a time outside the last day, an invalid name, the two processes that stand for sums
-- (count-settled.sql, roll-up.sql).
create function stint.note_enqueued(process uuid, flush integer, rows jsonb) returns timestamptz
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into stint.stat_minute as known (minute, queue, kind, process, flush, enqueued)
  select said.minute, said.queue, said.kind, note_enqueued.process, note_enqueued.flush, least(said.enqueued, 1000000000)
    from jsonb_to_recordset(rows) as said (minute timestamptz, queue text, kind text, enqueued bigint)
   where note_enqueued.process not in ('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
     and said.minute between stint.now() - interval '1 day' and stint.now() + interval '1 hour'
     and said.minute = date_trunc('minute', said.minute)
     and said.enqueued > 0
     and octet_length(said.queue) <= 128
     and said.queue ~ '^([A-Za-z0-9_][A-Za-z0-9_.:/%-]*|\(others\))$'
     and octet_length(said.kind) <= 128
     and said.kind ~ '^([A-Za-z0-9_][A-Za-z0-9_.:/%-]*|\(others\))$'
  on conflict on constraint stat_minute_pkey do update
     set flush    = excluded.flush,
         enqueued = excluded.enqueued
   where known.flush < excluded.flush;
  select stint.now();
end;

-- Hours of all processes, as far as their minutes are rolled up.
create table stint.stat_hour (
  hour            timestamptz     not null,
  queue           text collate "C" not null,
  kind            text collate "C" not null,
  enqueued        bigint          not null,
  started         bigint          not null,
  succeeded       bigint          not null,
  failed          bigint          not null,
  dead            bigint          not null,
  lease_expired   bigint          not null,
  refused         bigint          not null,
  cancelled       bigint          not null,
  snoozed         bigint          not null,
  released        bigint          not null,
  crashed         bigint          not null,
  attempts        bigint          not null,
  wait            jsonb           not null,
  run             jsonb           not null,
  constraint stat_hour_pkey primary key (hour, queue, kind)
) with (fillfactor = 80);

-- Adds two histograms.
create function stint.add_bins(one jsonb, other jsonb) returns jsonb
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_object_agg(merged.bin, merged.jobs), '{}')
    from (select both_of.bin, sum(both_of.jobs::bigint) as jobs
            from (select * from jsonb_each_text(one) union all select * from jsonb_each_text(other)) as both_of (bin, jobs)
           group by both_of.bin) as merged
$$;

-- What each queue has, at the last refresh. An empty queue has no row.
create table stint.queue_gauge (
  queue           text collate "C" not null,
  ready           bigint          not null,
  running         bigint          not null,
  scheduled       bigint          not null,
  retrying        bigint          not null,
  waiting         bigint          not null,
  estimated       text[]          not null default '{}',            -- the states whose figure is an estimate
  oldest_ready_at timestamptz,                                      -- run_at of the oldest ready job that was seen
  kinds           jsonb           not null default '{}',            -- kind to { state: jobs }
  priorities      jsonb           not null default '{}',            -- priority to ready jobs
  top_keys        jsonb           not null default '[]',            -- [{ key, ready }], most jobs first
  constraint queue_gauge_pkey primary key (queue)
) with (fillfactor = 50);

-- When the gauges were refreshed, and how long that took. One row.
create table stint.gauge_refresh (
  id              boolean         not null default true,
  refreshed_at    timestamptz,
  took_ms         double precision not null default 0,
  constraint gauge_refresh_pkey primary key (id),
  constraint gauge_refresh_one check (id)
) with (fillfactor = 10);

insert into stint.gauge_refresh default values;

-- Failures that people would call the same error.
create table stint.error_group (
  fingerprint     text collate "C" not null,
  kind            text collate "C" not null,
  class           text            not null,
  name            text            not null,
  title           text            not null,                         -- its message without ids, numbers and other data
  message         text            not null,                         -- its message when it was last seen
  first_seen      timestamptz     not null,
  last_seen       timestamptz     not null,
  versions        jsonb           not null default '{}',            -- version of the app to when it first failed there
  sample_job      uuid            not null,                         -- the last job that failed so
  status          text            not null default 'open',
  resolved_at     timestamptz,
  resolved_in     text,                                             -- a version of the app, where one was given
  ignored_until   timestamptz,                                      -- null where it is ignored for ever
  regressed_at    timestamptz,                                      -- when it came back after it was resolved
  constraint error_group_pkey primary key (fingerprint),
  constraint error_group_status check (status in ('open', 'resolved', 'ignored'))
) with (fillfactor = 80);

create index error_group_seen on stint.error_group (last_seen);

create table stint.error_hour (
  fingerprint     text collate "C" not null,
  hour            timestamptz     not null,
  process         uuid            not null,
  flush           integer         not null,
  failures        bigint          not null,
  deaths          bigint          not null,
  constraint error_hour_pkey primary key (fingerprint, hour, process)
) with (fillfactor = 80);

create index error_hour_age on stint.error_hour (hour);
