-- Invalid indexes of the schema, and whether a session builds an index on the same table: then the index may become valid.
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
