-- What every queue has, and how old that is; no row where it is older than :oldestMs.
select queue, ready::float8, running::float8, scheduled::float8, retrying::float8, waiting::float8, estimated, kinds,
       priorities, top_keys as "topKeys",
       ((extract(epoch from stint.now()) - extract(epoch from oldest_ready_at)) * 1000)::float8 as "oldestReadyMs",
       refreshed_at as "asOf",
       (extract(epoch from stint.now() - refreshed_at) * 1000)::float8 as "ageMs"
  from stint.gauge_refresh
 cross join stint.queue_gauge
 where refreshed_at > stint.now() - greatest(:oldestMs::float8, least(90000, 30 * took_ms)) * interval '1 millisecond'
 order by queue
