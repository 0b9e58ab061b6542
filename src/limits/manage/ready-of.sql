-- The ready jobs of some queues as they were last counted; no row if that is long ago.
select queue, ready::float8, kinds, top_keys as "topKeys"
  from stint.gauge_refresh
 cross join stint.queue_gauge
 where refreshed_at > stint.now() - greatest(30000, least(90000, 30 * took_ms)) * interval '1 millisecond'
   and queue = any(:queues::text[])
