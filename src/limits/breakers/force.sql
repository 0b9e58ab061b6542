-- Set the state of a breaker until a time, whatever its outcomes are. Then an open one is probed, and a closed one counts again.
with old as (
  select name, state as was, coalesce(:until::timestamptz, stint.now() + :forMs::float8 * interval '1 millisecond') as until
    from stint.breaker
   where name = :name::text
     for update
), forced as (
  update stint.breaker
     set state         = :state::text,
         since         = stint.now(),
         changes       = least(changes + case when state = :state::text then 0 else 1 end, 1000000000000000),
         opens         = case :state::text when 'closed' then 0 else opens end,
         cause         = null,
         probe_at      = case :state::text when 'open' then old.until end,
         probe_by      = null,
         probe_until   = null,
         forced_until  = old.until,
         forced_by     = :by::text,
         forced_reason = :reason::text
    from old
   where breaker.name = old.name
  returning breaker.name, old.was
), noted as (
  insert into stint.breaker_change (name, was, state, cause, by, reason)
  select name, was, :state::text, jsonb_build_object('until', (select until from old)), :by::text, :reason::text
    from forced
)
select name from forced
