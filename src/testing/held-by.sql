-- The jobs that run under this worker.
select id
  from stint.job
 where worker_id = :id::uuid
   and state::text = 'running'
