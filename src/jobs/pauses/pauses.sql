-- The pauses in effect, of all queues: of a queue itself first, then of its first kinds and keys.
with recursive
  -- include: jobs/paused
select queue, nullif(kind, '') as kind, nullif(key, '') as key, paused_at, nullif(paused_until, 'infinity') as paused_until,
       paused_by, reason
  from paused
 order by paused.queue, paused.kind, paused.key
