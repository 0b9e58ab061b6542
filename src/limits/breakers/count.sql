-- Add outcomes to this process's own row of the current slot, a tenth of the breaker's window.
--
-- :outcomes is a list: { name, ok, failed: { timeout: 3 } }. Failures of classes that the breaker does not count are left out.
-- A slot never begins before the breaker's last change, so what happened before that cannot open it again.
-- :flush grows with each write of a process: a write that is repeated after a lost reply adds nothing.
insert into stint.breaker_count as stored (name, slot, process, flush, ok, failed)
select breaker.name, slot.start, :process::uuid, :flush::integer, least(outcome.ok, 1000000000), least(counted.failed, 1000000000)
  from jsonb_to_recordset(:outcomes::jsonb) as outcome (name text, ok bigint, failed jsonb)
  join stint.breaker
    on breaker.name = outcome.name
 cross join lateral (
         select coalesce(sum(by_class.failures::bigint), 0) as failed
           from jsonb_each_text(outcome.failed) as by_class (class, failures)
          where by_class.class = any(breaker.counts)) as counted
 cross join lateral (
         select greatest(
                  to_timestamp(floor(extract(epoch from stint.now()) * 10000 / breaker.window_ms) * breaker.window_ms / 10000),
                  least(breaker.since, stint.now())) as start) as slot
 where breaker.state = 'closed'
   and outcome.ok + counted.failed > 0
on conflict on constraint breaker_count_pkey do update
   set flush  = excluded.flush,
       ok     = least(stored.ok + excluded.ok, 1000000000),
       failed = least(stored.failed + excluded.failed, 1000000000)
 where stored.flush < excluded.flush
