-- Write a process's totals of some minutes. Each row is this process's alone, and holds totals: sent again it changes
-- nothing, and :flush keeps one that comes late from replacing a newer. Gives the database's time.
with written as (
  insert into stint.stat_minute as known (
    minute, queue, kind, process, flush, enqueued, started, succeeded, failed, dead, lease_expired, refused,
    cancelled, snoozed, released, crashed, attempts, wait, run
  )
  select minute, queue, kind, :process::uuid, :flush::integer, enqueued, started, succeeded, failed, dead, lease_expired,
         refused, cancelled, snoozed, released, crashed, attempts, wait, run
    from jsonb_to_recordset(:rows::text::jsonb) as said (
           minute timestamptz, queue text, kind text, enqueued bigint, started bigint, succeeded bigint, failed bigint,
           dead bigint, lease_expired bigint, refused bigint, cancelled bigint, snoozed bigint, released bigint,
           crashed bigint, attempts bigint, wait jsonb, run jsonb)
  on conflict on constraint stat_minute_pkey do update
     set flush         = excluded.flush,
         enqueued      = excluded.enqueued,
         started       = excluded.started,
         succeeded     = excluded.succeeded,
         failed        = excluded.failed,
         dead          = excluded.dead,
         lease_expired = excluded.lease_expired,
         refused       = excluded.refused,
         cancelled     = excluded.cancelled,
         snoozed       = excluded.snoozed,
         released      = excluded.released,
         crashed       = excluded.crashed,
         attempts      = excluded.attempts,
         wait          = excluded.wait,
         run           = excluded.run
   where known.flush < excluded.flush
)
select (extract(epoch from stint.now()) * 1000)::float8 as now
