-- Store how far the search for matches has come; once it is complete, count them.
update stint.operation
   set cursor  = coalesce(:cursor::uuid, cursor),
       matched = case when :isAll::boolean then noted end
 where id = :id::uuid
