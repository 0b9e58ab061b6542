-- Lock a live job or a dead letter to the end of this transaction, so that a caller acts on the same row that it read. A
-- live row that is locked already, by its handler's transaction for example, is skipped.
with live as (
  select id, state::text as state, epoch, priority, run_at, attempt
    from stint.job
   where id = :id::uuid
     for no key update skip locked
), dead as (
  select id, 'dead' as state, epoch, priority, run_at, attempt
    from stint.dead
   where id = :id::uuid
     for no key update
)
select id, state, epoch, priority, run_at as "runAt", attempt from live
union all
select id, state, epoch, priority, run_at, attempt from dead
