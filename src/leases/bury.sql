-- Workers whose lease ran out are lost, one way. The locking subselect looks again at lease_until, so a renewal that
-- wins the race is honoured. Also says whether any job runs at all: where none does there is nothing to take back.
--
-- After the server was down nobody is buried before it had the time of its own lease to renew: whoever asks may have
-- a much shorter one.
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
