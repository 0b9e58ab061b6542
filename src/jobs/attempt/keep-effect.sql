-- Keep the result of an effect, for a caller that asks again.
update stint.effect
   set result = :result::text::jsonb
 where scope = :scope::text
   and key = :key::text
