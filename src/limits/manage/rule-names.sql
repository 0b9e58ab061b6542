-- A page of the names of limits and rates, and of key rules whose limit does not exist. A loose scan finds the names among
-- the key rules: a limit may have many thousands of them.
with recursive keyed as (
  (select name, 1 as step
     from stint.limit_key
    where name > :after::text
    order by name
    limit 1)
  union all
  select (select next.name
            from stint.limit_key as next
           where next.name > keyed.name
           order by next.name
           limit 1), step + 1
    from keyed
   where keyed.name is not null
     and step < :limit::integer
)
select names.name
  from ((select name
           from stint.concurrency_limit
          where name > :after::text
          order by name
          limit :limit::integer)
        union
        (select name
           from stint.rate
          where name > :after::text
          order by name
          limit :limit::integer)
        union
        select name
          from keyed
         where name is not null) as names
 order by names.name
 limit :limit::integer
