-- Write a process's totals of some minutes: what only it knows. Endings are counted by count-settled.sql. Each row is this process's alone, and holds totals: sent again it changes
-- nothing, and :flush keeps one that comes late from replacing a newer. Gives the database's time.
with written as (
  insert into stint.stat_minute as known (minute, queue, kind, process, flush, enqueued, started, refused, moved, wait, run)
  select minute, queue, kind, :process::uuid, :flush::integer, enqueued, started, refused, moved, wait, run
    from jsonb_to_recordset(:rows::text::jsonb) as said (
           minute timestamptz, queue text, kind text, enqueued bigint, started bigint, refused bigint, moved bigint,
           wait jsonb, run jsonb)
  on conflict on constraint stat_minute_pkey do update
     set flush    = excluded.flush,
         enqueued = excluded.enqueued,
         started  = excluded.started,
         refused  = excluded.refused,
         moved    = excluded.moved,
         wait     = excluded.wait,
         run      = excluded.run
   where known.flush < excluded.flush
)
select (extract(epoch from stint.now()) * 1000)::float8 as now
