-- The error groups of dead letters that begin with something, from one to the next through the index; at most :most.
with recursive step as (
  (select fingerprint
     from stint.dead
    where fingerprint >= :prefix::text
      and fingerprint < :prefix::text || 'g'
    order by fingerprint
    limit 1)
  union all
  select next.fingerprint
    from step
   cross join lateral (
          select fingerprint
            from stint.dead
           where fingerprint > step.fingerprint
             and fingerprint < :prefix::text || 'g'
           order by fingerprint
           limit 1) as next
)
select fingerprint as value from step limit :most::integer
