-- The number of running jobs by queue, among the first :limit of them. Their index is by worker, because workers use it.
-- There are few running jobs: workers claim about as many as they have slots.
select queue, count(*)::integer as jobs
  from (select queue
          from stint.jobs
         where place = 'live' and state = 'running'
         order by worker_id
         limit :limit::integer) as seen
 group by queue
