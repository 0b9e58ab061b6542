-- Take ready jobs of one queue and priority, oldest first, from the floor on: they run under a new lease and epoch.
--
-- The floor is where this process's last claim ended. The scan skips the rows before it: while a session holds an old
-- snapshot, no dead row can be removed, and a scan from the start would read every job that ever ran. Correctness never
-- depends on the floor: survey.sql finds jobs that appear below it.
-- `id = any(array(…))` and not a join, for which the planner chose a hash of the whole table.
-- A kind or a contract version that this worker does not know is left to workers that know it.
-- The queue must be open: the guard is one probe per statement, and holds however long ago this worker read the rules.
-- The rows come back unsorted; claim.ts sorts them. A sort here, with the CTE that it needs, takes an eighth of the
-- whole time.
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
            and (select stint.is_open(:queue::text))
          order by run_at, id
          limit :limit::integer
            for update skip locked))
returning -- include: jobs/claimed
