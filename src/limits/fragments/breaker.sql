-- A breaker as people see it: its rule, its state, the outcomes of its window, and the kinds that it covers.
breaker.name, breaker.window_ms, breaker.share, breaker.least, breaker.open_ms, breaker.most_open_ms, breaker.probes,
array(select left(class, 100) from unnest(breaker.counts) as class where class is not null) as counts,
breaker.source, breaker.state, breaker.since, breaker.opens, breaker.changes, breaker.cause, breaker.probe_at, breaker.probe_until,
breaker.probed, breaker.updated_at,
case when breaker.forced_until > stint.now() then breaker.forced_until end as forced_until, breaker.forced_by, breaker.forced_reason,
(select coalesce(jsonb_agg(jsonb_build_object('queue', cover.queue, 'kinds', coalesce(to_jsonb(cover.kinds), '[]')) order by cover.queue), '[]')
   from (select cover.queue, cover.kinds
           from stint.limit_cover as cover
          where cover.type = 'breaker'
            and cover.name = breaker.name
          order by cover.queue
          limit 100) as cover) as covers,
(select jsonb_build_object('ok', coalesce(sum(counted.ok), 0), 'failed', coalesce(sum(counted.failed), 0))
   from stint.breaker_count as counted
  where counted.name = breaker.name
    and counted.slot > stint.now() - greatest(0, least(breaker.window_ms, 86400000)) * interval '1 millisecond'
    and counted.slot >= least(breaker.since, stint.now())
    and counted.slot <= stint.now() + interval '1 minute') as seen
