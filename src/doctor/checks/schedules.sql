-- Schedules that should have fired, and those that fail. A schedule from code counts only while a live worker has it in
-- its code. Reads only columns that the role of viewers may read.
select s.name, s.failures,
       ((extract(epoch from stint.now()) - extract(epoch from s.next_fire_at)) * 1000)::float8 as "lateMs"
  from stint.schedule as s
 where (s.failures > 0 or s.next_fire_at < stint.now() - :lateMs::float8 * interval '1 millisecond')
   and (s.paused_at is null or s.paused_until <= stint.now())
   and (s.source = 'runtime'
        or exists (
          select from stint.worker as w
           where w.lost_at is null
             and w.about -> 'schedules' ? s.name))
 order by s.next_fire_at
 limit 100
