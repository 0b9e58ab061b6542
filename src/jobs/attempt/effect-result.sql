-- What an effect gave when it happened.
select result
  from stint.effect
 where scope = :scope::text
   and key = :key::text
