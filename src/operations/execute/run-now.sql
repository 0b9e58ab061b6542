-- Make scheduled and retrying jobs ready now.
update stint.job
   set run_at = stint.now(),
       state  = 'ready'
 where id = any(:ids::uuid[])
   and (created_at <= :asOf::timestamptz or created_at > stint.now() + interval '1 day')
   and state in ('scheduled', 'retrying')
returning id, 'acted' as outcome, null as reason, epoch, queue, priority, key is not null as keyed
