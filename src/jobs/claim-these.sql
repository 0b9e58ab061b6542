-- Take those of these jobs that are ready: they run under a new lease and epoch. Used when claim.sql or claim-keyed.sql
-- failed because of one row; see those.
update stint.job
   -- include: jobs/claim
 where id = any(array(
         select id
           from stint.job
          where id = any(:ids::uuid[])
            and queue = :queue::text
            and state = 'ready'
            and version <= (:kinds::jsonb ->> kind)::smallint
            for update skip locked))
returning id, kind, input, attempt, max_attempts as "maxAttempts", epoch, version, priority, key,
          -- include: jobs/rare
          as more,
          (run_at at time zone 'utc')::text as "runAt"
