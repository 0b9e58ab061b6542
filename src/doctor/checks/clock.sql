-- The time by which everything is decided.
select stint.now() as now
