-- The session with the oldest transaction that a build of an index would wait for, if it has been open for a while: it
-- will probably stay open for longer. By the real clock, as are the times of sessions. A login without pg_read_all_stats
-- does not see the times of other logins' sessions; then the build finds out by waiting.
select pid, application_name as application,
       (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as "ageMs"
  from pg_stat_activity
 where datname = current_database()
   and pid <> pg_backend_pid()
   and backend_type = 'client backend'
   and backend_xmin is not null
   and xact_start < clock_timestamp() - :openMs::float8 * interval '1 millisecond'
 order by xact_start
 limit 1
