-- The due jobs of a queue, in the order they fell due, without those that could not be made ready before.
select id
  from stint.job
 where job.queue = served.queue
   and state in ('scheduled', 'retrying')
   and run_at >= '-infinity'
   and run_at <= stint.now()
   and id <> all(:parked::uuid[])
 order by run_at
 limit :limit::integer
