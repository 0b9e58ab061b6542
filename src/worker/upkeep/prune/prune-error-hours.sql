-- Remove hourly error counts that are older than 30 days.
with gone as (
  delete from stint.error_hour
   where ctid = any(array(
           select ctid
             from stint.error_hour
            where hour < stint.now() - interval '30 days'
            order by hour, fingerprint, process
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
  returning hour
)
select count(*)::integer as removed from gone
