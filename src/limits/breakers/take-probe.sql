-- Win the right to try a breaker's downstream: a lease, so that a process that dies keeps no other from trying.
-- A probe that is taken over goes on where the last one ended.
with due as (
  select name, state as was
    from stint.breaker
   where name = :name::text
     and (forced_until > stint.now()) is not true
     and (state = 'open' and coalesce(probe_at, stint.now()) <= stint.now()
          or state = 'half-open' and coalesce(probe_until, stint.now()) <= stint.now())
     for update
), taken as (
  update stint.breaker
     set state       = 'half-open',
         since       = stint.now(),
         changes     = least(changes + case due.was when 'open' then 1 else 0 end, 1000000000000000),
         probe_at    = null,
         probe_by    = :prober::uuid,
         probe_until = stint.now() + :leaseMs::float8 * interval '1 millisecond',
         probed      = case due.was when 'open' then 0 else probed end
    from due
   where breaker.name = due.name
  returning breaker.name, due.was, breaker.probes, breaker.probed, breaker.counts
), noted as (
  insert into stint.breaker_change (name, was, state)
  select name, was, 'half-open'
    from taken
   where was = 'open'
)
select name, was, greatest(probes - probed, 1) as "left", to_jsonb(counts) as counts from taken
