-- Make the missing days of history: without them a settle or cancel cannot be stored.
select stint.ensure_partitions() as made
