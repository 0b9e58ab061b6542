-- End the lease of a worker that stops in good order: any worker may take over the jobs that still run under it.
update stint.worker
   set lost_at = stint.now()
 where id = :worker::uuid
   and lost_at is null
