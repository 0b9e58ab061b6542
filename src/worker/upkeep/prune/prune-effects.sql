-- Remove effects that happen once whose time is over. One that is taken anew meanwhile is locked, or looked at again.
with gone as (
  delete from stint.effect
   where ctid = any(array(
           select ctid
             from stint.effect
            where expires_at <= stint.now()
            order by expires_at, scope, key
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
     and expires_at <= stint.now()
  returning key
)
select count(*)::integer as removed from gone
