-- Remove idempotency keys whose time is over. A key that is taken again meanwhile is locked, or checked again.
with gone as (
  delete from stint.idempotency_key
   where ctid = any(array(
           select ctid
             from stint.idempotency_key
            where expires_at <= stint.now()
            order by expires_at, scope, key
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
     and expires_at <= stint.now()
  returning key
)
select count(*)::integer as removed from gone
