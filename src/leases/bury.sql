-- Workers whose lease ran out are lost, one way. The locking subselect looks again at lease_until, so a renewal that
-- wins the race is honoured.
--
-- After the server was down nobody is buried before it had the time of its own lease to renew: whoever asks may have
-- a much shorter one.
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
