-- The last attempts of a job that did not simply succeed, newest first.
select epoch, attempt, outcome, worker_id, started_at, ended_at, error, reason
  from stint.attempt
 where job_id = :id::uuid
 order by epoch desc, ended_at desc
 limit :limit::integer
