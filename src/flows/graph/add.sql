-- Add jobs to a node of an open flow.
select stint.add_to_flow(:flow::uuid, :node::text, :groups::text) as outcome
