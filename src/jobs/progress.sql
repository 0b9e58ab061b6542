-- Write how far running jobs are, and say whose lease still holds.
--
-- A row that is locked is passed over and still named: its handler is in a fenced transaction, and all other jobs would
-- wait here for its commit.
-- :items is an object by id: { percent, note }.
with held as (
  select id
    from stint.job
   where id       = any(:ids::uuid[])
     and lease_id = any(:leaseIds::uuid[])
), free as materialized (
  select id
    from stint.job
   where id       = any(:ids::uuid[])
     and lease_id = any(:leaseIds::uuid[])
     for no key update skip locked
), written as (
  update stint.job
     set progress = (:items::jsonb -> id::text) || jsonb_build_object('at', stint.now())
   where id = any(array(select id from free))
)
select id from held
