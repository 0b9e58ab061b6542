-- Which jobs of these kinds could be claimed first? A few, for the probes of a breaker: floors and lanes are about all kinds of
-- a queue, so this reads from the start. It takes nothing.
(select id, key, priority
   from stint.job
  where queue = :queue::text
    and key is null
    and state = 'ready'
    and version <= (:kinds::jsonb ->> kind)::smallint
    and id <> all(:parked::uuid[])
  order by priority desc, run_at, id
  limit :limit::integer)
union all
(select id, key, priority
   from stint.job
  where queue = :queue::text
    and key is not null
    and state = 'ready'
    and version <= (:kinds::jsonb ->> kind)::smallint
    and id <> all(:parked::uuid[])
  order by key, priority desc, run_at, id
  limit :limit::integer)
