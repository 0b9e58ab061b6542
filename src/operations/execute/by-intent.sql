-- The operation that a request has started.
select id
  from stint.operation
 where intent_id = :intentId::uuid
