-- Take a dead letter out of the trash; one that is not in it is not changed.
update stint.dead
   set discarded_at = null
 where id = :id::uuid
   and replaced_by is null
returning id
