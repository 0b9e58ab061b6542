-- Mark a worker as lost, as if its process had been killed and its lease had run out.
update stint.worker
   set lost_at     = stint.now(),
       lease_until = least(lease_until, stint.now())
 where id = :id::uuid
   and lost_at is null
