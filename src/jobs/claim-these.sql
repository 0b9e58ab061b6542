-- Take those of these jobs that are ready: they run under a new lease and epoch. Used when claim.sql or claim-lanes.sql
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
returning key, -- include: jobs/claimed
