-- Make those of these jobs ready that are due, and say where they are now.
update stint.job
   set state = 'ready'
 where id = any(:ids::uuid[])
   and state in ('scheduled', 'retrying')
   and run_at <= stint.now()
returning id, queue, priority, (run_at at time zone 'utc')::text as "runAt", key
