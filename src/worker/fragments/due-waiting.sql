-- The same of the jobs whose wait is over. They have an index of their own, job_waiting.
select id
  from stint.job
 where job.queue = served.queue
   and state = 'waiting'
   and run_at >= '-infinity'
   and run_at <= stint.now()
   and id <> all(:parked::uuid[])
 order by run_at
 limit :limit::integer
