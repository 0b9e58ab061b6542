-- Mark workers whose lease ran out as lost, for good. The locking subselect checks lease_until again, so a renewal that
-- wins the race counts. Also says whether any job runs at all: if none does, there is nothing to take back.
--
-- After a restart of the server each worker gets the full length of its own lease to renew: the worker that runs this
-- may have a much shorter one.
with buried as (
  update stint.worker
     set lost_at = stint.now()
   where id = any(array(
           select id
             from stint.worker
            where lost_at is null
              and lease_until < stint.now()
              and pg_postmaster_start_time() < clock_timestamp() - (lease_until - renewed_at)
            limit 50
              for update skip locked))
  returning id
)
select array(select id from buried) as lost,
       coalesce((select true from stint.job where state = 'running' order by worker_id limit 1), false) as "isAnyRunning"
