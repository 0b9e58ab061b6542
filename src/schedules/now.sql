-- The database's time: what is due is counted by it.
select floor(extract(epoch from stint.now()) * 1000)::float8 as now
