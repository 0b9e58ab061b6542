-- The session that holds the lock of a job's row. A session of another login shows its state only to pg_read_all_stats.
select session.pid, session.application_name as application, session.state,
       (extract(epoch from clock_timestamp() - session.xact_start) * 1000)::float8 as ms
  from stint.job
  join pg_stat_activity as session on session.backend_xid = job.xmax
 where job.id = :id::uuid
   and session.pid <> pg_backend_pid()
 limit 1
