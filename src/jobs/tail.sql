-- The last ready job of one queue and priority above the floor. A claim that came back short has seen all up to here
-- and can spare itself the next look: a million jobs of a kind it does not know, say.
select (run_at at time zone 'utc')::text as "runAt", id
  from stint.job
 where queue = :queue::text
   and key is null
   and state = 'ready'
   and priority = :priority::smallint
   and (run_at, id) > (:floorAt::timestamptz, :floorId::uuid)
 order by run_at desc, id desc
 limit 1
