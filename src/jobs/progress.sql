-- Write how far running jobs are, where their lease still holds.
--
-- :items is an object by id: { percent, note }.
update stint.job
   set progress = (:items::jsonb -> id::text) || jsonb_build_object('at', stint.now())
 where id       = any(:ids::uuid[])
   and lease_id = any(:leaseIds::uuid[])
returning id
