-- Resume an operation under another executing job, if it was paused or its job is gone.
update stint.operation
   set state     = coalesce(paused_in, state),
       paused_in = null,
       note      = null,
       job_id    = :jobId::uuid,
       canary_at = case when coalesce(paused_in, state) = 'canary' and canary_at is not null then stint.now() end
 where id = :id::uuid
   and (state = 'paused'
        or state in ('pending', 'canary', 'ramping')
           and not exists (select from stint.job where job.id = operation.job_id))
returning id
