-- Jobs whose id ends so, among the :window newest of each table: no index knows the end of an id.
select id
  from ((select id from stint.job order by id desc limit :window::integer)
        union all
        (select id from stint.dead order by id desc limit :window::integer)
        union all
        (select id from stint.finished order by id desc limit :window::integer)) as seen
 where id::text like any(:ends::text[])
 order by id desc
 limit :limit::integer
