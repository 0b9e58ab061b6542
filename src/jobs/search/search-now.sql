-- The time that ages are counted from.
select stint.now() as now
