-- Which jobs of these queues are due? Asked after promote.sql has failed, for promote-these.sql.
select due.id
  from unnest(:queues::text[]) as served (queue)
 cross join lateral (
         -- include: worker/due
       ) as due
 union all
select due.id
  from unnest(:queues::text[]) as served (queue)
 cross join lateral (
         -- include: worker/due-waiting
       ) as due
