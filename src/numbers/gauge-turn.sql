-- Whose turn it is to refresh the gauges: whoever asks first after :everyMs, or after 20 times what the last refresh cost
-- the database, up to a minute. One that is being taken is not waited for.
update stint.gauge_refresh
   set turn_at = stint.now()
 where id = any(array(
         select id
           from stint.gauge_refresh
          where turn_at < stint.now() - greatest(:everyMs::float8, least(60000, 20 * took_ms)) * interval '1 millisecond'
            for update skip locked))
returning id
