-- A job that lives or is dead, held to the end of this transaction: whoever decided by what it saw, acts on what it saw. A
-- row that its handler has in a transaction is passed by.
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
