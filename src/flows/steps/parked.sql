-- How often a job was parked one after the other because its steps have changed.
select coalesce(case when jsonb_typeof(waits #> '{parked,tries}') = 'number' then (waits #>> '{parked,tries}')::float8 end, 0) as tries
  from stint.job
 where id = :id::uuid
