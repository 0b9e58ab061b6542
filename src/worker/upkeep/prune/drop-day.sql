-- Drop a day of history, if it is old.
select stint.drop_day(:dayTable::text) as dropped
