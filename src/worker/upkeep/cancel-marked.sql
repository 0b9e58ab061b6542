-- End a statement that has waited long enough, by the mark in its text. Its process is not known: behind a pooler it is
-- not the one that the connection named.
select pg_cancel_backend(pid) as cancelled
  from pg_stat_activity
 where pid <> pg_backend_pid()
   and state = 'active'
   and query like '%' || :mark::text || '%'
