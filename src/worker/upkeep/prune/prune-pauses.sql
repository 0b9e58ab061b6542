-- Remove pauses of kinds and keys whose end has passed.
with gone as (
  delete from stint.pause
   where ctid = any(array(
           select ctid
             from stint.pause
            where paused_until <= stint.now()
            order by queue, kind, key
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
     and paused_until <= stint.now()
  returning queue
)
select count(*)::integer as removed from gone
