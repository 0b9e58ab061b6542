-- A job begins to run under a new lease and epoch.
set state      = 'running',
    worker_id  = :worker::uuid,
    lease_id   = :lease::uuid,
    attempt    = attempt + 1,
    epoch      = epoch + 1,
    started_at = stint.now(),
    unique_key = case when unique_until_start then null else unique_key end
