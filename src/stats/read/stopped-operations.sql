-- Recent operations, started within the last day, that their own rule stopped and that were not resumed.
select operation.id, operation.action, operation.note, operation.actor, operation.acted, operation.failed
  from (select *
          from stint.operation
         order by id desc
         limit :seen::integer) as operation
 where operation.state = 'stopped'
   and operation.created_at > stint.now() - interval '1 day'
 order by operation.id desc
