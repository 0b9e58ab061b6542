-- The last job of the window that list.sql looked into, or nothing where it saw all there is.
select id
  from stint.jobs
 where id <= :upTo::uuid
   and place = any(:places::text[])
 order by id desc
offset :window::integer - 1
 limit 1
