-- Mark an open flow as cancelled. The leader ends its jobs; the row without a node lets the next count forgive its dead ones.
with marked as (
  update stint.flow
     set cancel_at     = coalesce(cancel_at, stint.now()),
         cancel_reason = coalesce(cancel_reason, left(:reason::text, 1000))
   where id = :id::uuid
     and ended_at is null
  returning id
), asked as (
  insert into stint.flow_ending (flow_id)
  select id from marked
)
select id from marked
