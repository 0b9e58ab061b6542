-- The jobs that run under this worker according to the database.
select id, lease_id
  from stint.job
 where state = 'running'
   and worker_id = :worker::uuid
