-- A setting of the server, as it holds for this session, and where it comes from.
select setting, source
  from pg_settings
 where name = :name::text
