-- Make those of these jobs ready that are due, and return their positions.
--
-- The state is compared as text: otherwise the planner would choose job_due, and read all due jobs.
update stint.job
   set state = 'ready'
 where id = any(:ids::uuid[])
   and state::text in ('scheduled', 'waiting', 'retrying')
   and run_at <= stint.now()
returning id, queue, priority, (run_at at time zone 'utc')::text as "runAt", key
