-- Mark a worker as lost whose process has ended or is about to: its jobs need not wait for the end of its lease.
update stint.worker
   set lost_at = stint.now(),
       death   = :story::text
 where id = any(:workers::uuid[])
   and lost_at is null
