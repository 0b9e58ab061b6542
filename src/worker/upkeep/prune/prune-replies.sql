-- Remove stored replies of the console whose time is over.
with gone as (
  delete from stint.http_reply
   where ctid = any(array(
           select ctid
             from stint.http_reply
            where expires_at <= stint.now()
            order by expires_at, scope, key
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
     and expires_at <= stint.now()
  returning key
)
select count(*)::integer as removed from gone
