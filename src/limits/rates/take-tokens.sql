-- Take tokens of a bucket: 0010_rates.sql.
select granted, wait_ms as "waitMs", closed_ms as "closedMs", per_ms as "perMs", most, by_key as "byKey"
  from stint.take_tokens(
         :name::text, :key::text, :wanted::double precision, :least::double precision, :maxWaitMs::double precision,
         :forJob::boolean, :refused::integer)
