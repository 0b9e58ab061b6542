-- What happened to each kind of a queue within the last :minutes minutes, of all processes together, and how many rows that
-- is. The upper bound is as in last-hour.sql.
select kind, sum(succeeded)::float8 as succeeded, sum(failed)::float8 as failed, sum(dead)::float8 as dead,
       count(*)::integer as rows
  from stint.stat_minute
 where minute >= stint.now() - :minutes::integer * interval '1 minute'
   and minute < stint.now() + interval '1 day'
   and queue = :queue::text
 group by kind
