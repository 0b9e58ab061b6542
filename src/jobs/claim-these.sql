-- Take those of these jobs that are ready: they run under a new lease and epoch. Used when claim.sql or claim-lanes.sql
-- failed because of one row; see those. Jobs that were picked under limits have a number (0012_claim_limited.sql).
update stint.job
   -- include: jobs/claim
       , claim_seq = case when :isPicked::boolean then nextval('stint.claim_order') else claim_seq end
 where id = any(array(
         select id
           from stint.job
          where id = any(:ids::uuid[])
            and queue = :queue::text
            and state = 'ready'
            and version <= (:kinds::jsonb ->> kind)::smallint
            and (:isPicked::boolean or (select stint.is_open(:queue::text)))
            for update skip locked))
returning key, -- include: jobs/claimed
