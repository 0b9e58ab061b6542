-- Breakers that are not closed for longer than a while. Reads only columns that the role of viewers may read.
select name, state, coalesce(forced_until > stint.now(), false) as "isForced",
       (extract(epoch from stint.now()) - extract(epoch from opened.at))::float8 * 1000 as "openMs"
  from stint.breaker
 cross join lateral (
         -- A breaker whose probes fail is open, half-open and open again: it counts from when it was last closed.
         select greatest(least(breaker.since, coalesce(
                  (select min(change.at)
                     from stint.breaker_change as change
                    where change.name = breaker.name
                      and change.was = 'closed'
                      and change.state <> 'closed'
                      and change.at > coalesce(
                            (select max(closing.at)
                               from stint.breaker_change as closing
                              where closing.name = breaker.name
                                and closing.state = 'closed'), '-infinity')), breaker.since)),
                  stint.now() - interval '100 years') as at) as opened
 where state <> 'closed'
   and opened.at < stint.now() - :openMs::float8 * interval '1 millisecond'
 order by opened.at
 limit 100
