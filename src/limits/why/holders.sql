-- The jobs that run under a limit, the longest first: those that a claim counts. :key is null for a limit that is not by key.
select running.id, running.queue, running.kind, running.key, 'running' as state, running.worker_id as worker,
       running.started_at as since, (select worker.lease_until from stint.worker where worker.id = running.worker_id) as "leaseUntil"
  from (select job.id, job.queue::text as queue, job.kind::text as kind, job.key, job.worker_id, job.started_at
          from stint.limit_cover as cover
         cross join lateral (
                 select r.id
                   from stint.running_of_keys(cover.queue, array[:key::text]) as r
                  where :key::text is not null
                    and (cover.kinds is null or r.kind = any(cover.kinds))
                 union all
                 select r.id
                   from stint.running_of(cover.queue) as r
                  where :key::text is null
                    and (cover.kinds is null or r.kind = any(cover.kinds))) as counted
          join stint.job on job.id = counted.id
         where cover.type = 'concurrency'
           and cover.name = :name::text
         order by job.started_at nulls last, job.id
         limit :limit::integer) as running
