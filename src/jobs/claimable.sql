-- Which jobs of one queue and priority could be claimed? Used after claim.sql has failed, for claim-these.sql. It takes
-- nothing; jobs that could be neither claimed nor put aside before are skipped.
select id, (run_at at time zone 'utc')::text as "runAt"
  from stint.job
 where queue = :queue::text
   and key is null
   and state = 'ready'
   and priority = :priority::smallint
   and (run_at, id) > (:floorAt::timestamptz, :floorId::uuid)
   and version <= (:kinds::jsonb ->> kind)::smallint
   and id <> all(:parked::uuid[])
 order by run_at, id
 limit :limit::integer
