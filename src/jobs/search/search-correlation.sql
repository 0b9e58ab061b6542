-- Finished jobs of some correlation ids, by their index: at most :most, sorted here. A job without one has its own id.
with seen as materialized (
  select id
    from stint.finished
   where correlation_id = any(:correlations::text[])
   limit :most::integer
), own as materialized (
  select id
    from stint.finished
   where id = any(:ownIds::uuid[])
)
select -- include: jobs/shown
  from stint.jobs
 where place = 'finished'
   and id = any(array(select id from seen union select id from own))
   and id <= :upTo::uuid
   and id >= :from::uuid
   and -- include: jobs/matches
 order by id desc
 limit :limit::integer
