-- What the jobs of some nodes of a flow left for other jobs, in the order of their places; a row without a state for a node that
-- has left nothing. Results that are more than :maxBytes together are left out.
with found as materialized (
  select node.name, node.node, output.member, output.state::text as state, output.result, output.error,
         sum(octet_length(output.result::text)) over () as bytes
    from stint.flow_node as node
    left join stint.flow_output as output
      on output.flow_id = node.flow_id
     and output.node    = node.node
   where node.flow_id = :flow::uuid
     and node.name = any(:nodes::text[])
)
select name, state, case when bytes <= :maxBytes::bigint then result end as result, error,
       coalesce(bytes > :maxBytes::bigint, false) as "isTooLarge"
  from found
 order by node, member
