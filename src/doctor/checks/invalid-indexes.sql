-- Indexes of the schema that do not work, and whether somebody is at one on the same table: such a one may be on its way.
select index_class.relname as name,
       exists (select
                 from pg_stat_progress_create_index as building
                where building.relid = indrelid
                  and building.datname = current_database()) as "isBuilding"
  from pg_index
  join pg_class as index_class
    on index_class.oid = indexrelid
 where index_class.relnamespace = (select oid from pg_namespace where nspname = :schema::text)
   and not (indisvalid and indisready and indislive)
 order by index_class.relname
