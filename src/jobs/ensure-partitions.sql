-- Make the days of history that are missing: settles and cancels have nowhere to go without.
select stint.ensure_partitions() as made
