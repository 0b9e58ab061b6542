-- The last ready job of one queue and priority above the floor, among those that a claim sent :agoMs ago can have seen. A
-- claim that returned fewer jobs than its limit has seen all of them up to here, and the next claim can skip them: a
-- million jobs of a kind that the worker does not know, for example. It still has to look at jobs stored since then.
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
