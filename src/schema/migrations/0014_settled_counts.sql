-- Counts of endings are written by the statement that ends the jobs, so a killed worker takes none with it.
--
-- One row for each statement, queue and kind, appended and never changed: no counter row that jobs wait for, and none
-- that a held snapshot makes slow. Workers move them to stat_minute every few seconds (src/numbers/count-settled.sql).
--
-- Lock: none that matters; every object is new.
-- breaking: no
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
  attempts        bigint          not null default 0               -- that the succeeded ones took, all in all
);
create index stat_settle_minute on stint.stat_settle (minute);
alter table stint.stat_settle set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
