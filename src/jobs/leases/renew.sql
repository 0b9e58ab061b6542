-- A heartbeat, which answers with the time. No row: this worker is lost for good, and its jobs with it.
update stint.worker
   set lease_until    = stint.now() + :leaseMs::float8 * interval '1 millisecond',
       renewed_at     = stint.now(),
       rss_bytes      = :rssBytes::bigint,
       claims         = :claims::text::jsonb,
       clock_ahead_ms = :aheadMs::float8,
       clock_error_ms = :errorMs::float8
 where id = :worker::uuid
   and lost_at is null
returning (extract(epoch from stint.now()) * 1000)::float8 as now
