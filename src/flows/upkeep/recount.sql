-- Add the missing endings of nodes that stuck-flows.sql found, from what the other tables have of their jobs. Runs under the
-- locks of the flows (lock-flows.sql), in a newer snapshot, so no count comes in between. A job that is in no table counts as
-- cancelled.
with stuck as (
  select node.flow_id, node.node, node.remaining - node.is_open::integer as remaining,
         least(greatest(ended.dead - node.dead, 0), node.remaining - node.is_open::integer)::integer as dead,
         greatest(ended.succeeded - node.succeeded, 0)::integer as succeeded
    from stint.flow_node as node
   cross join lateral (
           select (select count(*)
                     from stint.dead
                    where dead.flow_id = node.flow_id
                      and dead.node = node.node
                      and dead.flow_id is not null
                      and dead.replaced_by is null) as dead,
                  (select count(*)
                     from stint.finished
                    where finished.flow_id = node.flow_id
                      and finished.node = node.node
                      and finished.flow_id is not null
                      and finished.state = 'succeeded') as succeeded) as ended
   where node.flow_id = any(:flows::uuid[])
     and node.remaining > node.is_open::integer
     and node.needs <= 0
     and not exists (select from stint.job where job.flow_id = node.flow_id and job.node = node.node)
     and not exists (select from stint.flow_ending where flow_ending.flow_id = node.flow_id)
), split as (
  select flow_id, node, remaining, dead, least(succeeded, remaining - dead) as succeeded
    from stuck
)
insert into stint.flow_ending (flow_id, node, succeeded, dead, cancelled)
select flow_id, node, succeeded, dead, remaining - dead - succeeded
  from split
returning flow_id as id
