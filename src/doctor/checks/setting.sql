-- The value of a setting in this session, and where it comes from.
select setting, source
  from pg_settings
 where name = :name::text
