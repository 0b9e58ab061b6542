-- Jobs that are parked because their steps have changed: among the first 200 waiting jobs of each queue that are due within an
-- hour, as a parked job is.
select soon.id, left(soon.kind, 200) as kind
  from unnest(:queues::text[]) as wanted (queue)
 cross join lateral (
         select id, kind, waits
           from stint.job
          where job.queue = wanted.queue
            and job.state = 'waiting'
            and job.run_at < stint.now() + interval '61 minutes'
          order by job.run_at
          limit 200) as soon
 where soon.waits ? 'parked'
 limit 100
