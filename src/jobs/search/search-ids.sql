-- Jobs by their ids, wherever they are, where they match.
select -- include: jobs/shown
  from stint.jobs
 where id = any(:ids::uuid[])
   and id <= :upTo::uuid
   and id >= :from::uuid
   and -- include: jobs/matches
 order by id desc
 limit :limit::integer
