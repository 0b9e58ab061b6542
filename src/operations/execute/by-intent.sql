-- The operation that a request started.
select id
  from stint.operation
 where intent_id = :intentId::uuid
