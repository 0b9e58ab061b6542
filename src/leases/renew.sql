-- A heartbeat. No row: this worker is lost for good, and its jobs with it.
update stint.worker
   set lease_until = stint.now() + :leaseMs::float8 * interval '1 millisecond',
       renewed_at  = stint.now(),
       rss_bytes   = :rssBytes::bigint
 where id = :worker::uuid
   and lost_at is null
returning id
