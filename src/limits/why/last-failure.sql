-- The error group of a job's last failed attempt. A statement of its own: only jobs that retry need it, and planning a read of all
-- days of attempts would cost every other job more than the rest of facts.sql.
select fingerprint
  from stint.attempt
 where job_id = :id::uuid
   and fingerprint is not null
 order by epoch desc
 limit 1
