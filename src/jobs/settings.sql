-- The settings of queues, by name.
select name, extract(epoch from keep_finished)::float8 * 1000 as keep_ms,
       extract(epoch from keep_dead)::float8 * 1000 as keep_dead_ms, updated_at
  from stint.queue
 order by name
