-- The database's time, which decides what is due.
select floor(extract(epoch from stint.now()) * 1000)::float8 as now
