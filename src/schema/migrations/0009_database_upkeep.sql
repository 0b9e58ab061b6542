-- What the upkeep of the database itself needs: when an index was last built anew, and how the tables that are left are
-- vacuumed.
--
-- Lock: share update exclusive on schedule, fire and blob for a moment, to set how they are vacuumed. The new table keeps
-- nobody waiting.
-- breaking: no

-- The last time that an index was built anew, or somebody tried to: at most one try a day, whoever leads.
create table stint.index_upkeep (
  name            text collate "C" not null,
  tried_at        timestamptz     not null,
  took_ms         integer,                                          -- null until it has come to an end
  bytes_before    bigint          not null,
  bytes_after     bigint,                                           -- null unless it went well
  error           text,                                             -- null once it went well
  constraint index_upkeep_pkey primary key (name)
);

-- Each fire rewrites its schedule, index entries and all; every scheduler looks for what is due every few seconds. A
-- table of 10,000 schedules would wait for 2,050 dead rows.
alter table stint.schedule set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 100);
-- These shrink by batches of upkeep, like dead letters and keys.
alter table stint.fire set (autovacuum_vacuum_scale_factor = 0.05);
alter table stint.blob set (autovacuum_vacuum_scale_factor = 0.05);
