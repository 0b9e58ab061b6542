-- Keep what an effect gave, for whoever asks again.
update stint.effect
   set result = :result::text::jsonb
 where scope = :scope::text
   and key = :key::text
