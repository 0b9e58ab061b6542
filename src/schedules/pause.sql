-- Pause a schedule, until it is resumed or until a given time. Times that pass during the pause are not missed fires.
update stint.schedule
   set paused_at    = coalesce(paused_at, stint.now()),
       paused_until = :until::timestamptz,
       pause_reason = :reason::text,
       decided_to   = greatest(decided_to, :until::timestamptz),
       next_fire_at = :nextFireAt::timestamptz,
       turn         = case when turn < 9223372036854775807 then turn + 1 else 1 end
 where name = :name::text
   and turn = :turn::bigint
returning name
