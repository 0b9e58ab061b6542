-- Write what was found, where it differs; a queue that has nothing any more has no gauge. Answers whether any queue has a rule about
-- how full it may get.
with said as materialized (
  select *
    from jsonb_to_recordset(:gauges::text::jsonb) as said (
           queue text, ready bigint, running bigint, scheduled bigint, retrying bigint, waiting bigint, estimated text[],
           "oldestReadyMs" float8, kinds jsonb, priorities jsonb, "topKeys" jsonb)
), gone as (
  delete from stint.queue_gauge
   where queue <> all(array(select queue from said))
), written as (
  insert into stint.queue_gauge as known (
    queue, ready, running, scheduled, retrying, waiting, estimated, oldest_ready_at, kinds, priorities, top_keys
  )
  select queue, ready, running, scheduled, retrying, waiting, estimated,
         to_timestamp("oldestReadyMs" / 1000), kinds, priorities, "topKeys"
    from said
   order by queue
  on conflict on constraint queue_gauge_pkey do update
     set ready           = excluded.ready,
         running         = excluded.running,
         scheduled       = excluded.scheduled,
         retrying        = excluded.retrying,
         waiting         = excluded.waiting,
         estimated       = excluded.estimated,
         oldest_ready_at = excluded.oldest_ready_at,
         kinds           = excluded.kinds,
         priorities      = excluded.priorities,
         top_keys        = excluded.top_keys
   where (known.ready, known.running, known.scheduled, known.retrying, known.waiting, known.estimated,
          known.oldest_ready_at, known.kinds, known.priorities, known.top_keys)
         is distinct from
         (excluded.ready, excluded.running, excluded.scheduled, excluded.retrying, excluded.waiting, excluded.estimated,
          excluded.oldest_ready_at, excluded.kinds, excluded.priorities, excluded.top_keys)
)
update stint.gauge_refresh
   set refreshed_at = stint.now(),
       took_ms      = :tookMs::float8
returning exists (select from stint.queue where pressure is not null) as "hasRules"
