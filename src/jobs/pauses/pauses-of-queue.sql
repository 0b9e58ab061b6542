-- The pauses of one queue that are in effect: of the queue itself, then of its kinds and keys.
(select name as queue, null as kind, null as key, paused_at, nullif(paused_until, 'infinity') as paused_until, paused_by,
        pause_reason as reason
   from stint.queue
  where name = :queue::text
    and paused_until > stint.now())
union all
(select queue, nullif(kind, ''), nullif(key, ''), paused_at, nullif(paused_until, 'infinity'), paused_by, reason
   from stint.pause
  where queue = :queue::text
    and paused_until > stint.now()
  order by kind, key
  limit :most::integer)
