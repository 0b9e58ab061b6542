-- Pause a kind or a key of a queue; the other one is ''. As pause-queue.sql; but no row where the queue has :most paused
-- kinds and keys already: workers read all of them every second.
insert into stint.pause as pause (queue, kind, key, paused_at, paused_until, paused_by, reason)
select :queue::text, :kind::text, :key::text, stint.now(),
       coalesce(:until::timestamptz, stint.now() + :forMs::float8 * interval '1 millisecond', 'infinity'),
       :by::text, :reason::text
 where (select count(*)
          from (select
                  from stint.pause as other
                 where other.queue = :queue::text
                   and (other.kind, other.key) <> (:kind::text, :key::text)
                   and other.paused_until > stint.now()
                 limit :most::integer) as others) < :most::integer
on conflict on constraint pause_pkey do update
   set paused_at    = case when pause.paused_until > stint.now() then pause.paused_at else excluded.paused_at end,
       paused_until = excluded.paused_until,
       paused_by    = excluded.paused_by,
       reason       = excluded.reason
returning queue
