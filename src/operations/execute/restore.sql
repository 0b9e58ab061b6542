-- Take dead letters out of the trash.
update stint.dead
   set discarded_at = null
 where id = any(:ids::uuid[])
   and (died_at <= :asOf::timestamptz or died_at > stint.now() + interval '1 day')
   and discarded_at is not null
   and replaced_by is null
returning id, 'acted' as outcome, null as reason, epoch
