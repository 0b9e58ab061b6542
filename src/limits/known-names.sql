-- The names of all stored rates and breakers.
select 'rate' as type, name from stint.rate
union all
select 'breaker', name from stint.breaker
