-- How the children of a running job are (0018_children.sql); no row if its lease is gone.
select is_over as "isOver", open_flows as "openFlows", failed
  from stint.look_at_children(:id::uuid, :lease::uuid, :flows::uuid[], :atFailure::boolean, :cancels::boolean)
