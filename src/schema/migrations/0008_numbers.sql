-- Numbers: what happened by the minute, what each queue has now, and errors that are the same.
--
-- Nothing here is touched once per job. Every process counts in memory and writes its own rows every few seconds, with
-- totals and not with differences: a statement that is sent again, or comes late, changes nothing.
--
-- Lock: none that matters; every object is new.
-- breaking: no

create table stint.stat_minute (
  minute          timestamptz     not null,
  queue           text collate "C" not null,
  kind            text collate "C" not null,
  process         uuid            not null,                         -- who counted: a worker, or a client
  flush           integer         not null,                         -- an older write never replaces a newer one
  enqueued        bigint          not null default 0,
  started         bigint          not null default 0,
  succeeded       bigint          not null default 0,
  failed          bigint          not null default 0,               -- attempts that failed and are followed by another
  dead            bigint          not null default 0,
  lease_expired   bigint          not null default 0,               -- taken back from workers that were lost
  refused         bigint          not null default 0,               -- late endings of those who had lost their lease
  cancelled       bigint          not null default 0,
  snoozed         bigint          not null default 0,
  released        bigint          not null default 0,
  crashed         bigint          not null default 0,
  attempts        bigint          not null default 0,               -- that the succeeded ones took, all in all
  wait            jsonb           not null default '{}',            -- run_at to start: bin to count, see core/histogram.ts
  run             jsonb           not null default '{}',            -- start to end of an attempt, likewise
  constraint stat_minute_pkey primary key (minute, queue, kind, process)
);
-- The current minute is written again and again.
alter table stint.stat_minute set (fillfactor = 80);
-- What is still to be rolled up: then all processes of a minute are one, the nil process.
create index stat_minute_raw on stint.stat_minute (minute) where process <> '00000000-0000-0000-0000-000000000000';

-- Hours, of all processes, as far as minutes were rolled up into them.
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
);
alter table stint.stat_hour set (fillfactor = 80);

-- Two histograms as one.
create function stint.add_bins(one jsonb, other jsonb) returns jsonb
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$
  select coalesce(jsonb_object_agg(merged.bin, merged.jobs), '{}')
    from (select both_of.bin, sum(both_of.jobs::bigint) as jobs
            from (select * from jsonb_each_text(one) union all select * from jsonb_each_text(other)) as both_of (bin, jobs)
           group by both_of.bin) as merged
$$;

-- What each queue has, as of the last refresh. A queue that has nothing has no row.
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
  top_keys        jsonb           not null default '[]',            -- [{ key, ready }], the most first
  constraint queue_gauge_pkey primary key (queue)
);
alter table stint.queue_gauge set (fillfactor = 50);

-- One row: as of when the gauges are, and what they cost.
create table stint.gauge_refresh (
  id              boolean         not null default true,
  refreshed_at    timestamptz,
  took_ms         double precision not null default 0,
  constraint gauge_refresh_pkey primary key (id),
  constraint gauge_refresh_one check (id)
);
alter table stint.gauge_refresh set (fillfactor = 10);
insert into stint.gauge_refresh default values;

-- What people would call one error, wherever and however often it happens.
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
  sample_job      uuid            not null,                         -- the last one
  status          text            not null default 'open',
  resolved_at     timestamptz,
  resolved_in     text,                                             -- a version of the app, where one was said
  ignored_until   timestamptz,                                      -- null where it is ignored for ever
  regressed_at    timestamptz,                                      -- it was resolved, and came back
  constraint error_group_pkey primary key (fingerprint),
  constraint error_group_status check (status in ('open', 'resolved', 'ignored'))
);
alter table stint.error_group set (fillfactor = 80);
create index error_group_seen on stint.error_group (last_seen);

create table stint.error_hour (
  fingerprint     text collate "C" not null,
  hour            timestamptz     not null,
  process         uuid            not null,
  flush           integer         not null,
  failures        bigint          not null,
  deaths          bigint          not null,
  constraint error_hour_pkey primary key (fingerprint, hour, process)
);
alter table stint.error_hour set (fillfactor = 80);
create index error_hour_age on stint.error_hour (hour);

-- How producers say what they enqueued: they may read nothing, and an upsert reads.
create function stint.note_enqueued(process uuid, flush integer, rows jsonb) returns timestamptz
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  insert into stint.stat_minute as known (minute, queue, kind, process, flush, enqueued)
  select said.minute, said.queue, said.kind, note_enqueued.process, note_enqueued.flush, said.enqueued
    from jsonb_to_recordset(rows) as said (minute timestamptz, queue text, kind text, enqueued bigint)
  on conflict on constraint stat_minute_pkey do update
     set flush    = excluded.flush,
         enqueued = excluded.enqueued
   where known.flush < excluded.flush;
  select stint.now();
end;
