-- One page of audit entries, newest first. :by chooses the index; the other filters apply to the :window rows that it returns.
with seen as (
  (select id, at, login, actor, role, origin, action, target, outcome, reason, before, after, operation_id, request_id
     from stint.audit
    where :by::text = 'target'
      and (target, id) <= (:target::text, :upTo::uuid)
      and target >= :target::text
    order by target desc, id desc
    limit (select :window::integer))
  union all
  (select id, at, login, actor, role, origin, action, target, outcome, reason, before, after, operation_id, request_id
     from stint.audit
    where :by::text = 'actor'
      and (actor, id) <= (:actor::text, :upTo::uuid)
      and actor >= :actor::text
    order by actor desc, id desc
    limit (select :window::integer))
  union all
  (select id, at, login, actor, role, origin, action, target, outcome, reason, before, after, operation_id, request_id
     from stint.audit
    where :by::text = 'id'
      and id <= :upTo::uuid
    order by id desc
    limit (select :window::integer))
)
select id, at, login, actor, role, origin, action, target, outcome, reason, before, after,
       operation_id as "operationId", request_id as "requestId"
  from seen
 where (:target::text is null or target = :target::text)
   and (:actor::text is null or actor = :actor::text)
   and (:action::text is null or action = :action::text or starts_with(action, :action::text || '.'))
 order by id desc
 limit :limit::integer
