-- Open the closed breakers whose window says so. Every process that counts asks; one of them is answered.
--
-- :errors is an object by name: { error, fingerprint } of a failure that this process met.
-- The rows are locked in order of name: two processes that open the same two breakers do not wait for each other.
with seen as materialized (
  select breaker.name, sum(counted.failed) as failed, sum(counted.ok + counted.failed) as outcomes
    from stint.breaker
    join stint.breaker_count as counted
      on counted.name = breaker.name
     and counted.slot > stint.now() - greatest(0, least(breaker.window_ms, 86400000)) * interval '1 millisecond'
     and counted.slot >= least(breaker.since, stint.now())
     and counted.slot <= stint.now() + interval '1 minute'
   where breaker.name = any(:names::text[])
     and breaker.state = 'closed'
     and (breaker.forced_until > stint.now()) is not true
   group by breaker.name
  having sum(counted.ok + counted.failed) >= breaker.least
     and sum(counted.failed) >= breaker.share * sum(counted.ok + counted.failed)
), tripping as (
  select breaker.name
    from stint.breaker
   where breaker.name in (select name from seen)
     and breaker.state = 'closed'
     and (breaker.forced_until > stint.now()) is not true
   order by breaker.name
     for update
), opened as (
  update stint.breaker
     set state        = 'open',
         since        = stint.now(),
         opens        = least(opens + 1, 1000000),
         changes      = least(changes + 1, 1000000000000000),
         probe_at     = stint.now() + least(open_ms * 2 ^ least(opens, 20), most_open_ms) * interval '1 millisecond',
         probe_by     = null,
         probe_until  = null,
         cause        = jsonb_build_object('failed', seen.failed, 'of', seen.outcomes)
                          || coalesce(:errors::jsonb -> breaker.name, '{}')
    from tripping
    join seen
      on seen.name = tripping.name
   where breaker.name = tripping.name
     and breaker.state = 'closed'
     and (breaker.forced_until > stint.now()) is not true
  returning breaker.name, breaker.cause, breaker.counts, breaker.probe_at
), noted as (
  insert into stint.breaker_change (name, was, state, cause)
  select name, 'closed', 'open', cause
    from opened
)
select name, 'closed' as was, 'open' as state, cause, to_jsonb(counts) as counts,
       extract(epoch from probe_at - stint.now())::float8 * 1000 as "probeInMs"
  from opened
