-- Let a closed queue take jobs again.
update stint.queue
   set takes_jobs   = true,
       closed_at    = null,
       close_reason = null,
       updated_at   = stint.now()
 where name = :name::text
   and not takes_jobs
