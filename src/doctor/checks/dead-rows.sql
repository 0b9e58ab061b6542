-- Stint's tables with more dead rows than autovacuum should leave, most first. `begins` is the number of dead rows at which
-- autovacuum begins, by the settings of the table or of the server.
select relname as name, dead::float8, live::float8, begins::float8,
       (extract(epoch from clock_timestamp() - greatest(pg_stat_get_last_autovacuum_time(oid),
                                                        pg_stat_get_last_vacuum_time(oid))) * 1000)::float8 as "lastMs"
  from (select pg_class.oid, relname,
               pg_stat_get_dead_tuples(pg_class.oid) as dead,
               pg_stat_get_live_tuples(pg_class.oid) as live,
               coalesce((select option_value
                           from pg_options_to_table(reloptions)
                          where option_name = 'autovacuum_vacuum_threshold'),
                        current_setting('autovacuum_vacuum_threshold'))::float8
               + coalesce((select option_value
                             from pg_options_to_table(reloptions)
                            where option_name = 'autovacuum_vacuum_scale_factor'),
                          current_setting('autovacuum_vacuum_scale_factor'))::float8
                 * greatest(reltuples, 0) as begins
          from pg_class
         where relnamespace = (select oid from pg_namespace where nspname = :schema::text)
           and relkind = 'r'
           and not relispartition) as own
 where dead > :least::float8
   and dead > :times::float8 * begins
 order by dead desc
