-- The last flow that a page of graph/list.sql looked at, if there are more behind it.
select id
  from stint.flow
 where id < :before::uuid
   and (not :isOpen::boolean or ended_at is null)
 order by id desc
offset 49999
 limit 1
