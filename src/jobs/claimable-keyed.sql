-- Which jobs of one queue that have a key could be claimed? Used after claim-lanes.sql has failed, for claim-these.sql.
-- Key by key from the first one: fairness does not matter until the bad row is found.
select id
  from stint.job
 where queue = :queue::text
   and key is not null
   and state = 'ready'
   and version <= (:kinds::jsonb ->> kind)::smallint
   and id <> all(:parked::uuid[])
 order by key, priority desc, run_at, id
 limit :limit::integer
