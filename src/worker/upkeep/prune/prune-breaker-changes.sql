-- Remove changes of breakers that are older than 30 days.
with gone as (
  delete from stint.breaker_change
   where ctid = any(array(
           select ctid
             from stint.breaker_change
            where at < stint.now() - interval '30 days'
            order by name, at
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
  returning name
)
select count(*)::integer as removed from gone
