-- One page of jobs that match, newest first, by keyset: ids are UUIDv7, so their order is the order of making, and every
-- table has an index on them. A filter is looked for in a window of the next :window jobs, no further: a rare queue among
-- millions must not become a scan of them all. search-window-end.sql says where the window ended. Only the tables (live,
-- finished, dead) that can hold a match are read: ready jobs are found behind a million newer finished ones.
--
-- `:x is null or` is harmless here: inside the window there is no index to choose any more. The lower end of what is looked
-- for (:from) is no bound of the window: two bounds look so selective to the planner that it sorts what lies between.
select -- include: jobs/shown
  from (select -- include: jobs/columns
          from stint.jobs
         where id <= :upTo::uuid
           and place = any(:tables::text[])
         order by id desc
         limit :window::integer) as seen
 where id >= :from::uuid
   and -- include: jobs/matches
 order by id desc
 limit :limit::integer
