-- Probes of this process succeeded. The breaker closes once enough have.
with mine as (
  select name, probed + :succeeded::integer >= probes as is_enough
    from stint.breaker
   where name = :name::text
     and state = 'half-open'
     and probe_by = :prober::uuid
     for update
), passed as (
  update stint.breaker
     set state       = case when is_enough then 'closed' else 'half-open' end,
         since       = case when is_enough then stint.now() else since end,
         changes     = least(changes + case when is_enough then 1 else 0 end, 1000000000000000),
         opens       = case when is_enough then 0 else opens end,
         cause       = case when is_enough then null else cause end,
         probe_by    = case when is_enough then null else probe_by end,
         probe_until = case when is_enough then null else probe_until end,
         probed      = least(probed + :succeeded::integer, 1000000)
    from mine
   where breaker.name = mine.name
  returning breaker.name, breaker.state, breaker.probed
), noted as (
  insert into stint.breaker_change (name, was, state, cause)
  select name, 'half-open', 'closed', jsonb_build_object('probed', probed)
    from passed
   where state = 'closed'
)
select name, 'half-open' as was, state, jsonb_build_object('probed', probed) as cause from passed
