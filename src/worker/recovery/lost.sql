-- Which jobs run under workers that are lost? The answer is complete: it starts from the workers of running jobs, not
-- from the table of workers, so it also finds a claim that commits after its worker was removed.
--
-- It only says where sweep.sql has to look. Locked rows are skipped, because a full batch of them would hide all
-- others; rows that could not be swept before are skipped too.
with recursive owner as (
  (select worker_id
     from stint.job
    where state = 'running'
    order by worker_id
    limit 1)
  union all
  select (select job.worker_id
            from stint.job
           where job.state = 'running'
             and job.worker_id > owner.worker_id
           order by job.worker_id
           limit 1)
    from owner
   where owner.worker_id is not null
)
select id
  from stint.job
 where state = 'running'
   and worker_id = any(array(
         select owner.worker_id
           from owner
          where owner.worker_id is not null
            and not exists (select from stint.worker where worker.id = owner.worker_id and worker.lost_at is null)))
   and id <> all(:parked::uuid[])
 limit :limit::integer
   for update skip locked
