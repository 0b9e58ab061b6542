-- What was enqueued in this test database, in the order in which it was stored.
select id,
       kind,
       queue,
       key,
       priority,
       input,
       run_at as "runAt",
       parent_id as "parentId"
  from stint_test.enqueued
 order by seq
