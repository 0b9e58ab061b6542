-- A flow with its nodes, at most 1,000, the most that stint.enqueue_flows() stores.
select flow.id, flow.type, flow.name, flow.parent_id as "parentId", flow.created_at as "createdAt", flow.ended_at as "endedAt",
       flow.unique_key as "uniqueKey", flow.cancel_at as "cancelAt", flow.cancel_reason as "cancelReason", flow.rerun_of as "rerunOf",
       (select jsonb_agg(jsonb_build_object(
                 'node', node.node, 'name', node.name, 'total', node.total - node.is_open::integer,
                 'remaining', node.remaining - node.is_open::integer, 'isOpen', node.is_open,
                 'succeeded', node.succeeded, 'dead', node.dead, 'cancelled', node.cancelled, 'needs', node.needs,
                 'isComplete', node.is_complete, 'onSucceeded', coalesce(node.on_succeeded, '{}'),
                 'onEnded', coalesce(node.on_ended, '{}'), 'onDead', coalesce(node.on_dead, '{}')) order by node.node)
          from (select *
                  from stint.flow_node
                 where flow_id = flow.id
                 order by flow_node.node
                 limit 1000) as node) as nodes
  from stint.flow
 where flow.id = :id::uuid
