-- The running jobs, ordered by the end of their lease. A lease belongs to the worker; a job whose worker's row is deleted
-- has none.
--
-- At most :seen of them are read, through the index by worker. The planner is not told how many: it would believe that
-- there are fewer, read them all and sort them.
select running.id as "jobId", left(running.kind, 201) as kind, left(running.queue, 201) as queue,
       left(running.key, 2001) as key, running.worker_id as "workerId", running.epoch,
       running.attempt, running.started_at as "startedAt", worker.lease_until as "leaseUntil",
       case when jsonb_typeof(running.progress -> 'percent') = 'number' then running.progress -> 'percent' end as progress, running.cancel_at as "cancelRequestedAt"
  from (select id, kind, queue, key, worker_id, epoch, attempt, started_at, progress, cancel_at
          from stint.job
         where state = 'running'
         order by worker_id
         limit (select :seen::integer)) as running
  left join stint.worker
    on worker.id = running.worker_id
 order by worker.lease_until nulls first, running.started_at nulls last, running.id
 limit :limit::integer
