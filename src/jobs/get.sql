-- One job from any of the tables.
select progress, input, input_blob, result, error, options,
       -- include: jobs/columns
  from stint.jobs
 where id = :id::uuid
