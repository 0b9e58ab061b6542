-- How full the queue of notifications is, and which sessions with an open transaction may be the reason: the queue is
-- emptied as far as the slowest listener has read, and one inside a transaction reads nothing.
select pg_notification_queue_usage() as usage,
       array(select pid
               from pg_stat_activity
              where state like 'idle in transaction%'
                and query ilike '%listen%'
              order by xact_start
              limit 5) as suspects
