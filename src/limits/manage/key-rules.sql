-- A page of the key rules of a limit, by key.
select key, max, weight, tier, until, by, reason, updated_at as "updatedAt", until > stint.now() as "isActive"
  from stint.limit_key
 where name = :name::text
   and key > :after::text
 order by key
 limit :limit::integer
