-- Jobs that run under this worker and were asked to stop.
select id, lease_id as "leaseId", cancel_reason as reason
  from stint.job
 where state = 'running'
   and worker_id = :worker::uuid
   and cancel_at is not null
