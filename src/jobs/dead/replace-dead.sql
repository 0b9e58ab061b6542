-- Mark a dead letter as edited into another job, where it is still the one that was looked at. It stays as it is, for
-- people to compare. One that the same job has marked before counts as marked: the first reply may have been lost.
update stint.dead
   set replaced_by = :replacedBy::uuid
 where id = :id::uuid
   and epoch = :epoch::integer
   and discarded_at is null
   and coalesce(replaced_by, :replacedBy::uuid) = :replacedBy::uuid
returning id
