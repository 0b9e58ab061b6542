-- The objects of the schema, one row each, with a text by which they can be compared. Days of history are like their
-- table and left out.
--
-- Run with an empty search_path, so that names are printed in full. A function is represented by a digest of its body:
-- migrations write another schema's name with quotes there, and only quoted names are changed back to the usual name.
with own as (
  select oid, relname, relkind
    from pg_class
   where relnamespace = (select oid from pg_namespace where nspname = :schema::text)
     and relkind in ('r', 'p', 'v')
     and not relispartition
)
select 'type ' || t.typname as object, string_agg(e.enumlabel, ', ' order by e.enumsortorder) as definition
  from pg_type as t
  join pg_enum as e
    on e.enumtypid = t.oid
 where t.typnamespace = (select oid from pg_namespace where nspname = :schema::text)
 group by t.typname
union all
select 'domain ' || t.typname, format_type(t.typbasetype, t.typtypmod) || ' ' || pg_get_constraintdef(c.oid)
  from pg_type as t
  join pg_constraint as c
    on c.contypid = t.oid
 where t.typnamespace = (select oid from pg_namespace where nspname = :schema::text)
union all
select case relkind when 'v' then 'view ' else 'table ' end || relname, coalesce(pg_get_partkeydef(oid), '')
  from own
union all
select 'column ' || relname || '.' || attname,
       format_type(atttypid, atttypmod)
       || case when attcollation <> typcollation then ' collate ' || attcollation::regcollation else '' end
       || case when attnotnull then ' not null' else '' end
       || coalesce(' default ' || pg_get_expr(adbin, adrelid), '')
       || case when attstattarget >= 0 then ' statistics ' || attstattarget else '' end
  from own
  join pg_attribute
    on attrelid = own.oid
   and attnum > 0
   and not attisdropped
  join pg_type
    on pg_type.oid = atttypid
  left join pg_attrdef
    on adrelid = attrelid
   and adnum = attnum
union all
select 'constraint ' || relname || '.' || conname, pg_get_constraintdef(pg_constraint.oid)
  from own
  join pg_constraint
    on conrelid = own.oid
 where contype <> 'n'
union all
select 'index ' || index_class.relname, pg_get_indexdef(indexrelid)
  from own
  join pg_index
    on indrelid = own.oid
  join pg_class as index_class
    on index_class.oid = indexrelid
union all
select 'function ' || proname || '(' || pg_get_function_identity_arguments(oid) || ')',
       md5(replace(prosrc, :quoted::text, :usual::text))
  from pg_proc
 where pronamespace = (select oid from pg_namespace where nspname = :schema::text)
