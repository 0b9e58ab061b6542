-- The jobs of some flows, wherever they are, where they match: at most :most are collected by the indexes of the tables, and
-- sorted here.
with seen as materialized (
  select -- include: jobs/columns
    from stint.jobs
   where flow_id = any(:flows::uuid[])
     and place = any(:tables::text[])
   limit :most::integer
)
select -- include: jobs/shown
  from seen
 where id <= :upTo::uuid
   and id >= :from::uuid
   and -- include: jobs/matches
 order by id desc
 limit :limit::integer
