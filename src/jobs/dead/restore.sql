-- Take a dead letter out of the trash; one that is not in it stays as it is.
update stint.dead
   set discarded_at = null
 where id = :id::uuid
   and replaced_by is null
returning id
