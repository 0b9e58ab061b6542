-- Whether a live worker executes operations.
select true as is_there
  from stint.worker
 where lost_at is null
   and lease_until > stint.now()
   and about -> 'kinds' ? :kind::text
 limit 1
