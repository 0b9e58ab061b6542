-- Invalid indexes that interrupted builds of our indexes have left behind. They are of no use, and slow down each write.
-- While a build is under way, its own index looks like one of them, and no index of its table could be dropped.
select index_class.relname as name
  from pg_index
  join pg_class as index_class
    on index_class.oid = indexrelid
  join pg_class as table_class
    on table_class.oid = indrelid
 where index_class.relnamespace = (select relnamespace from pg_class where oid = 'stint.job'::regclass)
   and not indisvalid
   and pg_has_role(table_class.relowner, 'usage')
   and substring(index_class.relname from '^(.+)_cc(?:new|old)[0-9]*$') = any(:names::text[])
   and not exists (select
                     from pg_stat_progress_create_index as building
                    where building.datname = current_database()
                      and building.relid = indrelid)
 order by index_class.relname
