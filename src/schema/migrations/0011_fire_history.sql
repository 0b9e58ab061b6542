-- How long a schedule's fires are remembered. What fired before that is forgotten, so it cannot be made up for either:
-- nobody could say whether it has been.
--
-- Lock: access exclusive on schedule for a moment; the columns are added without rewriting it.
-- breaking: no
alter table stint.schedule
  add column keep_fires_ms bigint not null default 2592000000,        -- 30 days
  add column forgotten_to  timestamptz;                               -- up to here, by a time that was shorter
