-- Remove outcomes that no breaker's window reaches any more.
with gone as (
  delete from stint.breaker_count
   where ctid = any(array(
           select counted.ctid
             from stint.breaker_count as counted
             left join stint.breaker
               on breaker.name = counted.name
            where counted.slot < stint.now() - coalesce(breaker.window_ms, 0) * interval '1 millisecond' - interval '1 minute'
               or counted.slot > stint.now() + interval '1 day'
            order by counted.name, counted.slot, counted.process
           offset :skip::integer
            limit :limit::integer
              for update of counted skip locked))
  returning name
)
select count(*)::integer as removed from gone
