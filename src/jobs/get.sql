-- One job, wherever it is.
select progress, input, input_blob, result, error, options,
       -- include: jobs/columns
  from stint.jobs
 where id = :id::uuid
