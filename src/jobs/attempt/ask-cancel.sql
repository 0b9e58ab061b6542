-- Ask a running job to stop; its worker is notified. A second request leaves the time and reason of the first.
--
-- A locked row is skipped: a handler inside ctx.tx holds its own row until it is done, and a caller must not wait for
-- that. Asking again is harmless.
update stint.job
   set cancel_at     = coalesce(cancel_at, stint.now()),
       cancel_reason = case when cancel_at is null then :reason::text else cancel_reason end
 where id = any(array(
         select id
           from stint.job
          where id = :id::uuid
            and state = 'running'
            for no key update skip locked))
returning worker_id as worker
