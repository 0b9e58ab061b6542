-- Let a paused schedule go on, from now.
update stint.schedule
   set paused_at    = null,
       paused_until = null,
       pause_reason = null,
       decided_to   = :decidedTo::timestamptz,
       next_fire_at = :nextFireAt::timestamptz,
       retry_at     = null,
       turn         = case when turn < 9223372036854775807 then turn + 1 else 1 end
 where name = :name::text
   and turn = :turn::bigint
returning name
