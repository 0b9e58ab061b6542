-- Schedules that fail to fire, or missed fires within the last day. Only the last 200 fires of each are read.
select schedule.name, schedule.kind, schedule.queue, schedule.failures, missed.fires as missed, missed.last_at as "missedAt",
       missed.reason as "missedReason"
  from stint.schedule
 cross join lateral (
         select (count(*) filter (where seen.outcome = 'missed'))::integer as fires,
                max(seen.fire_at) filter (where seen.outcome = 'missed') as last_at,
                (array_agg(seen.reason order by seen.fire_at desc) filter (where seen.outcome = 'missed'))[1] as reason
           from (select fire.outcome, fire.fire_at, fire.reason
                   from stint.fire
                  where fire.schedule = schedule.name
                    and fire.fire_at > stint.now() - interval '1 day'
                  order by fire.fire_at desc
                  limit 200) as seen) as missed
 where schedule.failures > 0
    or missed.fires > 0
 order by schedule.failures desc, schedule.name
 limit :limit::integer
