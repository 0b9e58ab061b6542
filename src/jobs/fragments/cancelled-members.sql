-- What the flows of the cancelled jobs in "gone" have to know: that these ended, and how, and that the flows that they made
-- are cancelled too. stint.count_endings() does the rest.
member_ended as (
  insert into stint.flow_ending (flow_id, node, cancelled)
  select flow_id, node, count(*)
    from gone
   where flow_id is not null
     and node is not null
   group by flow_id, node
), output as (
  insert into stint.flow_output (flow_id, node, member, job_id, state)
  select flow_id, node, member, id, 'cancelled'
    from gone
   where flow_id is not null
     and node is not null
     and member is not null
  on conflict do nothing
), flow_cancelled as (
  insert into stint.flow_ending (flow_id)
  select flow.id
    from stint.flow
   where parent_id = any(array(select gone.id from gone))
     and parent_id is not null
     -- Not `is null`: without statistics the planner would read the index of all open flows.
     and coalesce(ended_at, 'infinity') = 'infinity'
)
