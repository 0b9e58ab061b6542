-- What keeps vacuum from removing dead rows: transactions of this database, standbys with hot_standby_feedback, forgotten
-- prepared transactions, replication slots. Oldest first; rows of unknown age come before them.
--
-- Without pg_read_all_stats, a login sees that sessions of other logins hold a snapshot, but neither its age nor their state.
select 'session' as type, pid::text as name, application_name as application, usename::text as "user", state,
       left(query, 200) as query, true as "isActive",
       (extract(epoch from clock_timestamp() - xact_start) * 1000)::float8 as "ageMs",
       greatest(age(backend_xmin), age(backend_xid))::float8 as xids, quote_ident(current_user) as login
  from pg_stat_activity
 where pid <> pg_backend_pid()
   and (backend_xmin is not null or backend_xid is not null)
   and (datname = current_database() or backend_type = 'walsender')
   and backend_type is distinct from 'autovacuum worker'
union all
select 'prepared', gid, '', owner::text, null, null, true,
       (extract(epoch from clock_timestamp() - prepared) * 1000)::float8, age(transaction)::float8,
       quote_ident(current_user)
  from pg_prepared_xacts
 where database = current_database()
union all
select 'slot', slot_name::text, coalesce(plugin::text, 'physical'), null, null, null, active, null, age(xmin)::float8,
       quote_ident(current_user)
  from pg_replication_slots
 where xmin is not null
 order by "ageMs" desc nulls first, xids desc
 limit 50
