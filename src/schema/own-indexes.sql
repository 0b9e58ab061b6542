-- Indexes by name, invalid ones first and then the largest, with what is known of each without reading it: its size,
-- how many entries it had when it was last vacuumed or analyzed, its expressions and its predicate.
-- Only b-trees: there is no estimate for other types, and only one of our indexes has another type.
select index_class.relname as name, table_class.relname as "table", indisvalid as "isValid",
       pg_has_role(table_class.relowner, 'usage') as "isOurs",
       pg_relation_size(indexrelid)::float8 as bytes,
       greatest(index_class.reltuples, 0)::float8 as "knownEntries",
       (pg_relation_size(indrelid) / current_setting('block_size')::integer)::float8 as "tablePages",
       current_setting('block_size')::integer as "pageBytes",
       array(select pg_get_indexdef(indexrelid, position, false)
               from generate_series(1, indnatts) as position
              order by position) as expressions,
       pg_get_expr(indpred, indrelid) as predicate,
       coalesce(tried.tried_at > stint.now() - interval '1 day', false) as "isTried",
       tried.error
  from pg_index
  join pg_class as index_class
    on index_class.oid = indexrelid
  join pg_class as table_class
    on table_class.oid = indrelid
  join pg_am
    on pg_am.oid = index_class.relam
  left join stint.index_upkeep as tried
    on tried.name = index_class.relname
 where index_class.relnamespace = (select relnamespace from pg_class where oid = 'stint.job'::regclass)
   and index_class.relkind = 'i'
   and index_class.relname = any(:names::text[])
   and amname = 'btree'
 order by indisvalid, pg_relation_size(indexrelid) desc, index_class.relname
