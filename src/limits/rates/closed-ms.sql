-- How much longer a bucket stays closed: 0010_rates.sql.
select coalesce(stint.closed_ms(:name::text, :key::text), 0) as "closedMs"
