-- The time of this database.
select stint.now() as at
