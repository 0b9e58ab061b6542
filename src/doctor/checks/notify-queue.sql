-- How full the queue of notifications is, and which sessions with an open transaction may be the reason: the server removes
-- a notification when every listener has read it, and a listener inside a transaction reads none.
select pg_notification_queue_usage() as usage,
       array(select pid
               from pg_stat_activity
              where state like 'idle in transaction%'
                and query ilike '%listen%'
              order by xact_start
              limit 5) as suspects
