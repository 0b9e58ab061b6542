-- The breakers that cover kinds of a queue, by name.
select -- include: limits/breaker
  from stint.breaker
 where breaker.name > :after::text
   and exists (
     select from stint.limit_cover as mine
      where mine.queue = :queue::text
        and mine.type = 'breaker'
        and mine.name = breaker.name)
 order by breaker.name
 limit :limit::integer
