-- The kinds of dead letters that begin with something, from one to the next through the index; at most :most.
-- Kinds are ASCII and compared as bytes: a tilde comes after every character that one can have.
with recursive step as (
  (select kind
     from stint.dead
    where kind >= :prefix::text
      and kind < :prefix::text || '~'
    order by kind
    limit 1)
  union all
  select next.kind
    from step
   cross join lateral (
          select kind
            from stint.dead
           where kind > step.kind
             and kind < :prefix::text || '~'
           order by kind
           limit 1) as next
)
select kind as value from step limit :most::integer
