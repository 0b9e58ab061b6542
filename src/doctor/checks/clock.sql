-- The time by which everything is decided.
select (extract(epoch from stint.now()) * 1000)::float8 as now
