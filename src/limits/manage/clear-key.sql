-- Remove the rule of one key of a limit.
delete from stint.limit_key
 where name = :name::text
   and key = :key::text
returning key
