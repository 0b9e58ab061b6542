-- Pause a queue: claims that begin after the commit take none of its jobs. A pause of a queue that is paused already gets
-- the new end, author and reason, and keeps its start.
insert into stint.queue as setting (name, paused_at, paused_until, paused_by, pause_reason)
values (
  :queue::text,
  stint.now(),
  coalesce(:until::timestamptz, stint.now() + :forMs::float8 * interval '1 millisecond', 'infinity'),
  :by::text,
  :reason::text
)
on conflict on constraint queue_pkey do update
   set paused_at    = case when setting.paused_until > stint.now() then setting.paused_at else excluded.paused_at end,
       paused_until = excluded.paused_until,
       paused_by    = excluded.paused_by,
       pause_reason = excluded.pause_reason
