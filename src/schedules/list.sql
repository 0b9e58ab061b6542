-- A page of schedules by name, without their inputs. A value far larger than Stint ever stores is left out or cut.
-- Reads only columns that the role of viewers may read.
select s.name, left(s.kind, 201) as kind, left(s.queue, 201) as queue, left(s.time_zone, 201) as time_zone,
       case when octet_length(s.spec::text) <= 65536 then s.spec end as spec,
       s.input_from_code, left(s.overlap, 201) as overlap, left(s.missed, 201) as missed, s.missed_limit,
       s.missed_window_ms::float8 as missed_window_ms, s.jitter_ms::float8 as jitter_ms,
       s.keep_fires_ms::float8 as keep_fires_ms, s.starts_at, s.ends_at, s.source,
       left(s.app_version, 201) as app_version, s.paused_at, s.paused_until, left(s.pause_reason, 2000) as pause_reason,
       s.next_fire_at, s.decided_to, s.queued_fire_at, s.failures,
       s.created_at, s.updated_at,
       s.paused_at is not null and coalesce(s.paused_until, 'infinity') > stint.now() as is_paused,
       s.source = 'code' and not exists (
         select from stint.worker as w
          where w.lost_at is null
            and w.about -> 'schedules' ? s.name) as is_orphan,
       last.fire_at as last_fire_at, last.outcome as last_outcome
  from stint.schedule as s
  left join lateral (
         select f.fire_at, f.outcome
           from stint.fire as f
          where f.schedule = s.name
          order by f.fire_at desc
          limit 1) as last on true
 where s.name > :after::text
 order by s.name
 limit :limit::integer
