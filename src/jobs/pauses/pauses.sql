-- The pauses in effect, of all queues: of a queue itself, then of its kinds and keys, the first :each of them. At most :most
-- rows of stint.pause are read.
(select name as queue, null as kind, null as key, paused_at, nullif(paused_until, 'infinity') as paused_until, paused_by,
        pause_reason as reason
   from stint.queue
  where paused_until > stint.now()
  order by name)
union all
(select queue, nullif(kind, ''), nullif(key, ''), paused_at, nullif(paused_until, 'infinity'), paused_by, reason
   from (select pause.*, row_number() over (partition by queue order by kind, key) as place
           from (select *
                   from stint.pause
                  where paused_until > stint.now()
                  order by queue, kind, key
                  limit :most::integer) as pause) as placed
  where place <= :each::integer
  order by queue, place)
