-- The time of the database, which Stint uses for every decision.
select (extract(epoch from stint.now()) * 1000)::float8 as now
