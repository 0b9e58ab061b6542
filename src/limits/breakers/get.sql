-- One breaker.
select -- include: limits/breaker
  from stint.breaker
 where breaker.name = :name::text
