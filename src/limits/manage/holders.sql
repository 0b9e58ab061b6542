-- The running jobs that a limit counts, the longest first. At most :most running jobs are read.
select running.id, running.queue, running.kind, running.key, running.worker_id as "workerId", running.started_at as "startedAt"
  from (select job.id, job.queue, job.kind, job.key, job.worker_id, job.started_at
          from stint.jobs as job
         where job.place = 'live'
           and job.state = 'running'
           and job.queue = any(array(select queue from stint.limit_cover where type = 'concurrency' and name = :name::text))
         limit :most::integer) as running
  join stint.limit_cover as cover
    on cover.type = 'concurrency'
   and cover.name = :name::text
   and cover.queue = running.queue
   and (cover.kinds is null or running.kind = any(cover.kinds))
 order by running.started_at, running.id
 limit :limit::integer
