-- Which jobs of these queues are due? Asked after promote.sql has failed, for promote-these.sql.
select due.id
  from unnest(:queues::text[]) as served (queue)
 cross join lateral (
         select id
           from stint.job
          where job.queue = served.queue
            and state in ('scheduled', 'retrying')
            and run_at >= '-infinity'
            and run_at <= stint.now()
            and id <> all(:parked::uuid[])
          order by run_at
          limit :limit::integer) as due
