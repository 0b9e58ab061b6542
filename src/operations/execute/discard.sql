-- Put dead letters into the trash; those that are there keep their time.
update stint.dead
   set discarded_at = stint.now()
 where id = any(:ids::uuid[])
   and (died_at <= :asOf::timestamptz or died_at > stint.now() + interval '1 day')
   and discarded_at is null
   and replaced_by is null
returning id, 'acted' as outcome, null as reason, epoch
