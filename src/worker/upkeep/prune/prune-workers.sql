-- Remove workers that were lost a week ago and have nothing running: until then they say how they ended. A job that runs
-- under a worker without a row is taken back like any other.
with gone as (
  delete from stint.worker
   where id = any(array(
           select id
             from stint.worker
            where lost_at < stint.now() - interval '7 days'
              and not exists (select from stint.job where job.state = 'running' and job.worker_id = worker.id)
            order by lost_at, id
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
  returning id
)
select count(*)::integer as removed from gone
