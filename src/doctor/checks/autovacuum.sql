-- Whether autovacuum is on, for which of Stint's tables it is off, and when it last vacuumed the jobs table.
select current_setting('autovacuum')::boolean as "isOn",
       current_setting('track_counts')::boolean as "isCounting",
       array(select relname::text
               from pg_class
              where relnamespace = own.oid
                and relkind = 'r'
                and exists (select
                              from pg_options_to_table(reloptions)
                             where option_name = 'autovacuum_enabled'
                               and not option_value::boolean)
              order by relname) as excluded,
       (extract(epoch from clock_timestamp() - pg_stat_get_last_autovacuum_time(job.oid)) * 1000)::float8 as "lastMs",
       pg_stat_get_autovacuum_count(job.oid)::float8 as times
  from pg_namespace as own
  left join pg_class as job
    on job.relnamespace = own.oid
   and job.relname = 'job'
 where own.nspname = :schema::text
