-- How many jobs some flows have, counted up to :most.
select count(*)::integer as jobs
  from (select
          from stint.jobs
         where flow_id = any(:flows::uuid[])
         limit :most::integer) as member
