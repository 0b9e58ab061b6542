-- One schedule with all that firing it needs. Fires up to `forgotten_to` may have been pruned; it is null for a schedule
-- that is younger than the time it keeps fires.
select s.name, left(s.kind, 201) as kind, left(s.queue, 201) as queue, left(s.time_zone, 201) as time_zone,
       case when octet_length(s.spec::text) <= 65536 then s.spec end as spec,
       case when octet_length(s.job::text) <= 65536 then s.job end as job,
       s.input, s.input_from_code, left(s.overlap, 201) as overlap, left(s.missed, 201) as missed, s.missed_limit,
       s.starts_at, s.ends_at, s.source, left(s.app_version, 201) as app_version, s.paused_until,
       left(s.pause_reason, 2000) as pause_reason, s.next_fire_at, s.decided_to, s.queued_fire_at, s.failures,
       s.created_at, s.updated_at, s.turn::text as turn_text,
       s.missed_window_ms::float8 as missed_window_ms, s.jitter_ms::float8 as jitter_ms,
       s.keep_fires_ms::float8 as keep_fires_ms, left(s.last_error, 2000) as last_error,
       greatest(
         s.forgotten_to,
         case when s.created_at < kept.since then kept.since end) as forgotten_to,
       s.paused_at is not null and coalesce(s.paused_until, 'infinity') > stint.now() as is_paused,
       s.source = 'code' and not exists (
         select from stint.worker as w
          where w.lost_at is null
            and w.about -> 'schedules' ? s.name) as is_orphan,
       last.fire_at as last_fire_at, last.outcome as last_outcome,
       (select count(*)::integer
          from (select from stint.fire as f where f.schedule = s.name and f.outcome = 'asked' limit 10000) as waiting) as asked_fires,
       floor(extract(epoch from stint.now()) * 1000)::float8 as now
  from stint.schedule as s
 cross join lateral (
         -- Clamped to what a definition allows: a value written by hand may overflow the subtraction.
         select stint.now() - least(greatest(s.keep_fires_ms, 0), 316224000000) * interval '1 millisecond' as since) as kept
  left join lateral (
         select f.fire_at, f.outcome
           from stint.fire as f
          where f.schedule = s.name
          order by f.fire_at desc
          limit 1) as last on true
 where s.name = :name::text
