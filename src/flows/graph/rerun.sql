-- Store a new flow that runs a part of an older one again.
select stint.rerun_flow(:older::uuid, :from::text, :newer::uuid) as outcome
