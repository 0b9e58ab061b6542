-- Write the progress of running jobs, if their lease still holds, and return those jobs.
--
-- Locked rows are skipped: a handler inside ctx.tx holds its own row for as long as it likes, and all other rows of this
-- statement would wait for it.
-- :items is an object by id: { percent, note }.
with free as materialized (
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
select id, id = any(array(select id from free)) as "isWritten"
  from stint.job
 where id       = any(:ids::uuid[])
   and lease_id = any(:leaseIds::uuid[])
