-- Make due jobs of these queues ready, scheduled and retrying ones and those whose wait is over, in the order they fell due,
-- and return their positions; jobs that could not be made ready before are skipped. The last row, without an id, says when the
-- next one falls due, in a day at the latest: a run_at may be infinite, which a server before 17 cannot subtract.
--
-- The lower bound is always true. The planner takes a range that is open at one end for a third of the table, and
-- collected and sorted all due jobs; it takes a range that is closed at both ends for narrow, and reads job_due in order
-- until :limit.
with promoted as (
  update stint.job
     set state = 'ready'
   where id = any(array(
           select due.id
             from unnest(:queues::text[]) as served (queue)
            cross join lateral (
                    -- include: worker/due
                       for update skip locked) as due
            union all
           select due.id
             from unnest(:queues::text[]) as served (queue)
            cross join lateral (
                    -- include: worker/due-waiting
                       for update skip locked) as due))
  returning id, queue, priority, run_at, key
)
select id, queue, priority, (run_at at time zone 'utc')::text as "runAt", key, null::float8 as "inMs"
  from promoted
union all
select null, null, null, null, null,
       (extract(epoch from min(least(next.run_at, stint.now() + interval '1 day')) - stint.now()) * 1000)::float8
  from unnest(:queues::text[]) as served (queue)
 cross join lateral (
         (select run_at
            from stint.job
           where job.queue = served.queue
             and state in ('scheduled', 'retrying')
             and run_at > stint.now()
           order by run_at
           limit 1)
         union all
         (select run_at
            from stint.job
           where job.queue = served.queue
             and state = 'waiting'
             and run_at > stint.now()
           order by run_at
           limit 1)) as next
