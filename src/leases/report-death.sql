-- A worker whose process is known to have ended, or is about to: nobody need wait for its lease.
update stint.worker
   set lost_at = stint.now(),
       death   = :story::text
 where id = any(:workers::uuid[])
   and lost_at is null
