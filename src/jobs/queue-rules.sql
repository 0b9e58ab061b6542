-- The rules of flow control of some queues; no row for a queue without any.
select queue, rules
  from stint.queue_rules(:queues::text[])
 where rules <> '{}'
