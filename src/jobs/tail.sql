-- The last ready job of one queue and priority above the floor, of those that a claim sent :agoMs ago can have seen. A
-- claim that came back short has seen all up to here and can spare itself the next look: a million jobs of a kind it
-- does not know, say. What was stored since is to be looked at.
select (run_at at time zone 'utc')::text as "runAt", id
  from stint.job
 where queue = :queue::text
   and key is null
   and state = 'ready'
   and priority = :priority::smallint
   and (run_at, id) > (:floorAt::timestamptz, :floorId::uuid)
   and run_at < stint.now() - :agoMs::float8 * interval '1 millisecond'
 order by run_at desc, id desc
 limit 1
