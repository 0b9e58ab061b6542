-- The pauses in effect: of queues, and of the first 20 kinds and keys of each queue. A loose scan finds the queues, up to a
-- thousand: rows that another program wrote about one queue must not hide those of others.
paused_part (queue, step) as (
  (select queue, 1 from stint.pause order by queue limit 1)
  union all
  select (select pause.queue from stint.pause where pause.queue > paused_part.queue order by pause.queue limit 1), step + 1
    from paused_part
   where queue is not null
     and step < 1000
), paused as (
  select name as queue, '' as kind, '' as key, paused_at, paused_until, paused_by, pause_reason as reason
    from stint.queue
   where paused_until > stint.now()
  union all
  select part.queue, part.kind, part.key, part.paused_at, part.paused_until, part.paused_by, part.reason
    from paused_part
   cross join lateral (
           select pause.*
             from stint.pause
            where pause.queue = paused_part.queue
              and pause.paused_until > stint.now()
            order by pause.kind, pause.key
            limit 20) as part
)
