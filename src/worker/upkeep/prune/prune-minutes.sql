-- Remove minutes of stats after a week; their hours stay.
with gone as (
  delete from stint.stat_minute
   where ctid = any(array(
           select ctid
             from stint.stat_minute
            where minute < stint.now() - interval '7 days'
            order by minute, queue, kind, process
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
  returning minute
)
select count(*)::integer as removed from gone
