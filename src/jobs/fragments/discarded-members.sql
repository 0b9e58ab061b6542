-- Dead letters of flows that are removed count as cancelled: the nodes that waited for their replay go on without them.
member_removed as (
  insert into stint.flow_ending (flow_id, node, dead, cancelled)
  select flow_id, node, -count(*), count(*)
    from gone
   where flow_id is not null
     and node is not null
   group by flow_id, node
)
