-- A probe of this process failed: the breaker is open for twice as long as before, up to its most.
with mine as (
  select name
    from stint.breaker
   where name = :name::text
     and state = 'half-open'
     and probe_by = :prober::uuid
     for update
), opened as (
  update stint.breaker
     set state       = 'open',
         since       = stint.now(),
         opens       = least(opens + 1, 1000000),
         changes     = least(changes + 1, 1000000000000000),
         probe_at    = stint.now() + least(open_ms * 2 ^ least(opens, 20), most_open_ms) * interval '1 millisecond',
         probe_by    = null,
         probe_until = null,
         cause       = :cause::jsonb
    from mine
   where breaker.name = mine.name
  returning breaker.name, breaker.cause
), noted as (
  insert into stint.breaker_change (name, was, state, cause)
  select name, 'half-open', 'open', cause
    from opened
)
select name, 'half-open' as was, 'open' as state, cause from opened
