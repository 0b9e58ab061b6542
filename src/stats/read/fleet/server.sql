-- The server's version and its time.
select current_setting('server_version') as version, stint.now() as "asOf"
