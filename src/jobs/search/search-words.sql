-- Which of some names search words have, among the :window newest jobs of each table, and whether there is a job at all.
with seen as materialized (
  (select search from stint.job order by id desc limit :window::integer)
  union all
  (select search from stint.dead order by id desc limit :window::integer)
  union all
  (select search from stint.finished order by id desc limit :window::integer)
)
select exists (select from seen) as "hasJobs",
       array(select name
               from unnest(:names::text[]) as wanted (name)
              where exists (select
                              from seen
                             cross join unnest(seen.search) as word
                             where starts_with(word, name || ':'))) as known
