-- The time, and the oldest transaction of this database that has written something and is still open: a job that it enqueued does
-- not exist yet. Sessions of other logins show their age only to pg_read_all_stats.
select stint.now() as "asOf", oldest.pid, oldest.ms
  from (select) as always
  left join lateral (
         select pid, (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as ms
           from pg_stat_activity
          where datname = current_database()
            and pid <> pg_backend_pid()
            and backend_xid is not null
            and xact_start is not null
          order by xact_start
          limit 1) as oldest on true
