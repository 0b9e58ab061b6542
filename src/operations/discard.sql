-- Put dead letters into the trash; those that are there keep their time.
update stint.dead
   set discarded_at = stint.now()
 where id = any(:ids::uuid[])
   and died_at <= :asOf::timestamptz
   and discarded_at is null
   and replaced_by is null
returning id, 'acted' as outcome, null as reason, epoch
