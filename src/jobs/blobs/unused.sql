-- Blobs that were once a job's input and are no longer: the job's history was dropped, or it took another input.
select blob.key
  from stint.blob
 where blob.key > :after::text
   and not exists (
         select
           from stint.jobs
          where jobs.id = blob.job_id
            and jobs.input_blob = blob.key)
 order by blob.key
 limit :limit::integer
