-- Take ready jobs of one queue and priority, oldest first, from the floor on: they run under a new lease and epoch.
--
-- The floor is where this process's last claim ended. It spares the scan what lies before it: with a snapshot held
-- open nothing dead can be removed, and a scan from the start would meet every job that ever ran. Correctness never
-- depends on it: survey.sql finds what appears below.
-- `id = any(array(…))` and not a join, for which the planner chose a hash of the whole table.
-- A kind that this worker does not know, or a contract version newer than it knows, is left to those who do.
-- They come back as they were found; claim.ts puts them in order. A sort here, with the CTE that it needs, is an eighth
-- of the whole.
update stint.job
   -- include: jobs/claim
 where id = any(array(
         select id
           from stint.job
          where queue = :queue::text
            and key is null
            and state = 'ready'
            and priority = :priority::smallint
            and (run_at, id) > (:floorAt::timestamptz, :floorId::uuid)
            and version <= (:kinds::jsonb ->> kind)::smallint
          order by run_at, id
          limit :limit::integer
            for update skip locked))
returning id, kind, input, attempt, max_attempts as "maxAttempts", epoch, version, priority,
          case when num_nonnulls(correlation_id, traceparent, tracestate, parent_id, flow_id, deadline_at, input_blob,
                                 options, failures, attempts_before, progress, nullif(crashes, 0),
                                 nullif(suspect, false), cancel_at) > 0
               then -- include: jobs/rare
          end as more,
          (run_at at time zone 'utc')::text as "runAt"
