-- The version of the server, and whether it is read-only: a standby, or by its settings.
select current_setting('server_version') as version,
       current_setting('server_version_num')::integer as number,
       pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as "isReadOnly"
