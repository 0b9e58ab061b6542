-- How the building of an index went.
update stint.index_upkeep
   set took_ms     = :tookMs::integer,
       bytes_after = case when :error::text is null
                          then pg_relation_size((select to_regclass('stint.' || quote_ident(:name::text)))) end,
       error       = :error::text
 where name = :name::text
