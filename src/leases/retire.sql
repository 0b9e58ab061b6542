-- A worker that ends in good order: whatever still runs under it is anybody's.
update stint.worker
   set lost_at = stint.now()
 where id = :worker::uuid
   and lost_at is null
