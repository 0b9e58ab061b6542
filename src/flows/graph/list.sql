-- Flows, the newest first, with the sums of their nodes. :before is the id of the last one of the page before.
--
-- A name or a type has no index: they are looked for among 50,000 flows (graph/window-end.sql says where the next page begins).
select flow.id, flow.type, flow.name, flow.parent_id as "parentId", flow.created_at as "createdAt", flow.ended_at as "endedAt",
       flow.unique_key as "uniqueKey", flow.cancel_at as "cancelAt", flow.cancel_reason as "cancelReason", flow.rerun_of as "rerunOf",
       sums.total, sums.remaining, sums.succeeded, sums.dead, sums.cancelled, sums."isHeld", sums."isBroken"
  from (select *
          from (select *
                  from stint.flow
                 where id < :before::uuid
                   and (not :isOpen::boolean or ended_at is null)
                 order by id desc
                 limit 50000) as latest
         where (:name::text is null or name = :name::text)
           and (:type::text is null or type = :type::text)
         order by id desc
         limit :limit::integer) as flow
 cross join lateral (
         select coalesce(sum(node.total - node.is_open::integer), 0)::float8 as total,
                coalesce(sum(node.remaining - node.is_open::integer), 0)::float8 as remaining,
                coalesce(sum(node.succeeded), 0)::float8 as succeeded, coalesce(sum(node.dead), 0)::float8 as dead,
                coalesce(sum(node.cancelled), 0)::float8 as cancelled,
                coalesce(bool_or(node.dead > 0 and not node.is_complete)
                         and not bool_or(node.remaining > 0 and node.needs <= 0), false) as "isHeld",
                coalesce(bool_or(least(node.remaining, node.succeeded, node.dead, node.cancelled) < 0
                                 or node.remaining::bigint + node.succeeded + node.dead + node.cancelled <> node.total), true) as "isBroken"
           from stint.flow_node as node
          where node.flow_id = flow.id) as sums
 order by flow.id desc
