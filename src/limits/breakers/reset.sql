-- Close a breaker, end a forced state, and begin to count anew.
with old as (
  select name, state as was
    from stint.breaker
   where name = :name::text
     for update
), changed as (
  update stint.breaker
     set state         = 'closed',
         since         = stint.now(),
         changes       = least(changes + case state when 'closed' then 0 else 1 end, 1000000000000000),
         opens         = 0,
         cause         = null,
         probe_at      = null,
         probe_by      = null,
         probe_until   = null,
         forced_until  = null,
         forced_by     = null,
         forced_reason = null
    from old
   where breaker.name = old.name
  returning breaker.name, old.was
), noted as (
  insert into stint.breaker_change (name, was, state, by, reason)
  select name, was, 'closed', :by::text, :reason::text
    from changed
)
select name from changed
