-- The changes of a breaker in the last 30 days, newest first.
select at, was, state, cause, by, reason
  from stint.breaker_change
 where name = :name::text
   and at > stint.now() - interval '30 days'
   and at <= stint.now() + interval '1 minute'
 order by at desc
 limit :limit::integer
