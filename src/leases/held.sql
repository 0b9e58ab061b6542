-- What runs under this worker, by the database's book.
select id, lease_id
  from stint.job
 where state = 'running'
   and worker_id = :worker::uuid
