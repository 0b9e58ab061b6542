-- The stored result of an effect.
select result
  from stint.effect
 where scope = :scope::text
   and key = :key::text
