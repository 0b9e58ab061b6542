-- The process of these workers has ended, and somebody saw how: they are lost at once, and nobody waits out their
-- lease. One that had ended in good order before, or that others have declared lost, stays as it is.
update stint.worker
   set lost_at = stint.now(),
       death   = :story::text
 where id = any(:workers::uuid[])
   and lost_at is null
