-- Change the time of a job, if it waits only for its time or for a worker. A retry stays a retry.
update stint.job
   set run_at = due.at,
       state  = case
                  when due.at <= stint.now() then 'ready'
                  when state = 'retrying' then 'retrying'
                  else 'scheduled'
                end::stint.job_state
  from (select coalesce(:runAt::timestamptz, stint.now() + :delayMs::float8 * interval '1 millisecond') as at) as due
 where id = :id::uuid
   and state in ('scheduled', 'ready', 'retrying')
returning id
