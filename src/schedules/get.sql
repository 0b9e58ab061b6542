-- One schedule with all that a scheduler knows of it. Its fires may be forgotten up to `forgotten_to`; none of one that
-- is younger than it keeps them.
select s.*, s.turn::text as turn_text, s.missed_window_ms::float8 as missed_window_ms, s.jitter_ms::float8 as jitter_ms,
       s.keep_fires_ms::float8 as keep_fires_ms,
       greatest(
         s.forgotten_to,
         case when s.created_at < stint.now() - s.keep_fires_ms * interval '1 millisecond'
              then stint.now() - s.keep_fires_ms * interval '1 millisecond'
         end) as forgotten_to,
       s.paused_at is not null and coalesce(s.paused_until, 'infinity') > stint.now() as is_paused,
       s.source = 'code' and not exists (
         select from stint.worker as w
          where w.lost_at is null
            and w.about -> 'schedules' ? s.name) as is_orphan,
       last.fire_at as last_fire_at, last.outcome as last_outcome,
       floor(extract(epoch from stint.now()) * 1000)::float8 as now
  from stint.schedule as s
  left join lateral (
         select f.fire_at, f.outcome
           from stint.fire as f
          where f.schedule = s.name
          order by f.fire_at desc
          limit 1) as last on true
 where s.name = :name::text
