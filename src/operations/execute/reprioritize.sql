-- Change the priority of jobs that do not run.
update stint.job
   set priority = :priority::smallint
 where id = any(:ids::uuid[])
   and (created_at <= :asOf::timestamptz or created_at > stint.now() + interval '1 day')
   and state <> 'running'
returning id, 'acted' as outcome, null as reason, epoch, queue, :priority::integer as priority, key is not null as keyed
