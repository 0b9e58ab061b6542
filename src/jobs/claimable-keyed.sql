-- Which jobs of one queue that have a key could be claimed? Asked where claim-keyed.sql cannot have them all at once, for
-- claim-these.sql. Key by key from the first one: whose turn it is does not matter while a row is in the way.
select id
  from stint.job
 where queue = :queue::text
   and key is not null
   and state = 'ready'
   and version <= (:kinds::jsonb ->> kind)::smallint
   and id <> all(:parked::uuid[])
 order by key, priority desc, run_at, id
 limit :limit::integer
