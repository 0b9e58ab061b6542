-- Matches are noted down to here; where that was all, they are counted.
update stint.operation
   set cursor  = coalesce(:cursor::uuid, cursor),
       matched = case when :isAll::boolean then noted end
 where id = :id::uuid
