-- A page of the names of the limits and rates that cover a queue.
select distinct name
  from stint.limit_cover
 where queue = :queue::text
   and type <> 'breaker'
   and name > :after::text
 order by name
 limit :limit::integer
