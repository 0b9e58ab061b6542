-- How many jobs run, by queue, among the first :limit that do. Their index is by worker, for it is the workers that
-- look there; there are never more of them than workers have slots.
select queue, count(*)::integer as jobs
  from (select queue
          from stint.jobs
         where place = 'live' and state = 'running'
         order by worker_id
         limit :limit::integer) as seen
 group by queue
