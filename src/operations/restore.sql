-- Take dead letters out of the trash.
update stint.dead
   set discarded_at = null
 where id = any(:ids::uuid[])
   and died_at <= :asOf::timestamptz
   and discarded_at is not null
   and replaced_by is null
returning id, 'acted' as outcome, null as reason, epoch
