-- Breakers by name.
select -- include: limits/breaker
  from stint.breaker
 where breaker.name > :after::text
 order by breaker.name
 limit :limit::integer
