-- How far the clocks of live workers are off, as they measured it; the largest difference first.
select coalesce(about ->> 'host', '?') as host, coalesce(about ->> 'pid', '?') as pid,
       clock_ahead_ms as "aheadMs", clock_error_ms as "errorMs"
  from stint.worker
 where lost_at is null
   and lease_until >= stint.now()
   and clock_ahead_ms is not null
 order by abs(clock_ahead_ms) desc, id
