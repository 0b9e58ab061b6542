-- Which server this is, and whether it only reads: a standby, or one that was told to.
select current_setting('server_version') as version,
       current_setting('server_version_num')::integer as number,
       pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as "isReadOnly"
