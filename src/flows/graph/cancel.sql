-- Mark an open flow as cancelled. The leader ends its jobs; the row without a node lets the next count forgive its dead ones.
with marked as (
  update stint.flow
     set cancel_at     = coalesce(cancel_at, stint.now()),
         cancel_reason = coalesce(cancel_reason, left(:reason::text, 1000))
   where id = :id::uuid
     and ended_at is null
  returning id
), closed as (
  -- Nodes that take more jobs take no more.
  update stint.flow_node
     set is_open   = false,
         total     = total - 1,
         remaining = remaining - 1
   where flow_id = any(array(select id from marked))
     and is_open
), asked as (
  insert into stint.flow_ending (flow_id)
  select id from marked
)
select id from marked
