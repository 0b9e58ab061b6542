-- What a caller of breaker(name).run() must know. `inMs` is when a breaker that is not closed may be probed.
select state, coalesce(forced_until > stint.now(), false) as "isForced",
       extract(epoch from greatest(least(coalesce(case state when 'open' then probe_at else probe_until end, stint.now()),
                                         stint.now() + interval '1 day'), stint.now()) - stint.now())::float8 * 1000 as "inMs"
  from stint.breaker
 where name = :name::text
