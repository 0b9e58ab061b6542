-- Mark a dead letter as edited into another job, if it is still the one that the caller has read. It stays unchanged,
-- for people to compare. If the same job has marked it before, it counts as marked: the first reply may have been lost.
update stint.dead
   set replaced_by = :replacedBy::uuid
 where id = :id::uuid
   and epoch = :epoch::integer
   and discarded_at is null
   and coalesce(replaced_by, :replacedBy::uuid) = :replacedBy::uuid
returning id
