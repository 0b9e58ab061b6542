-- Remove hours of stats after 90 days.
with gone as (
  delete from stint.stat_hour
   where ctid = any(array(
           select ctid
             from stint.stat_hour
            where hour < stint.now() - interval '90 days'
            order by hour, queue, kind
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
  returning hour
)
select count(*)::integer as removed from gone
