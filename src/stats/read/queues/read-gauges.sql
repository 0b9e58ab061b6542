-- The jobs of every queue as they were last counted; no row if that is longer ago than :oldestMs.
select queue, ready::float8, running::float8, scheduled::float8, retrying::float8, waiting::float8, estimated, kinds,
       priorities, top_keys as "topKeys",
       ((extract(epoch from stint.now()) - extract(epoch from oldest_ready_at)) * 1000)::float8 as "oldestReadyMs",
       refreshed_at as "countedAt"
  from stint.gauge_refresh
 cross join stint.queue_gauge
 where refreshed_at > stint.now() - greatest(:oldestMs::float8, least(90000, 30 * took_ms)) * interval '1 millisecond'
 order by queue
