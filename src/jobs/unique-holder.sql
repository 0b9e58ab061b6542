-- The live job that has the unique key of a dead letter.
select job.id
  from stint.dead
  join stint.job
    on job.queue = dead.queue
   and job.unique_key = dead.unique_key
 where dead.id = :id::uuid
