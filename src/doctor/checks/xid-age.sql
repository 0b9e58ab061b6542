-- The age of the oldest transaction id of this database that is not frozen.
select age(datfrozenxid)::float8 as xids, mxid_age(datminmxid)::float8 as "multiXids",
       current_setting('autovacuum_freeze_max_age')::float8 as "freezesAt"
  from pg_database
 where datname = current_database()
