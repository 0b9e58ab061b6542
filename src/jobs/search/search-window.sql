-- One page of jobs that match, newest first, among the next :window jobs of the places that can have them. As in list.sql
-- a filter is looked for in a window and no further; search-window-end.sql says where it ended.
--
-- `:x is null or` is harmless here: inside the window there is no index to choose any more. The lower end of what is looked
-- for (:from) is no bound of the window: two bounds look so selective to the planner that it sorts what lies between.
select -- include: jobs/shown
  from (select -- include: jobs/columns
          from stint.jobs
         where id <= :upTo::uuid
           and place = any(:places::text[])
         order by id desc
         limit :window::integer) as seen
 where id >= :from::uuid
   and -- include: jobs/matches
 order by id desc
 limit :limit::integer
