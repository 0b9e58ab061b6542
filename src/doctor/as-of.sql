-- The server's time. Not stint.now(): the schema may not be there.
select clock_timestamp() as now
