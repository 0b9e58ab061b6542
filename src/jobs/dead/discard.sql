-- Put a dead letter into the trash; one that is already there keeps its time.
update stint.dead
   set discarded_at = coalesce(discarded_at, stint.now())
 where id = :id::uuid
   and replaced_by is null
returning id
