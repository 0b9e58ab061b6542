-- How many jobs run, by queue, among the first :limit running ones. Their index is by worker, because workers use it;
-- there are never more running jobs than the workers have slots.
select queue, count(*)::integer as jobs
  from (select queue
          from stint.jobs
         where place = 'live' and state = 'running'
         order by worker_id
         limit :limit::integer) as seen
 group by queue
