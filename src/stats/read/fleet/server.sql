-- Which server this is, and its time.
select current_setting('server_version') as version, stint.now() as "asOf"
