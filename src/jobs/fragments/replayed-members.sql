-- What the flows of the replayed dead letters in "back" have to know: these are not dead any more, and their outputs are void.
-- A parent that has seen its children keeps what it saw: their outputs stay. The lock makes that exact, because a parent looks
-- under the same one.
-- The outputs are found one by one: a join could be planned as a scan of all outputs.
member_back as (
  insert into stint.flow_ending (flow_id, node, dead)
  select flow_id, node, -count(*)
    from back
   where flow_id is not null
     and node is not null
   group by flow_id, node
), unread as materialized (
  select id
    from stint.flow
   where id = any(array(select flow_id from back))
     and read_at is null
   order by id
     for no key update
), output_void as (
  delete from stint.flow_output
   where ctid = any(array(
           select void.ctid
             from back
             join unread on unread.id = back.flow_id
            cross join lateral (
                    select flow_output.ctid
                      from stint.flow_output
                     where flow_output.flow_id = back.flow_id
                       and flow_output.node    = back.node
                       and flow_output.member  = back.member
                     limit 1) as void))
)
