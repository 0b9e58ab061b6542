-- End jobs that wait, as jobs/cancel.sql does one; those that run are asked to stop. A row that is locked is passed by: its
-- handler is about to complete it.
with target as materialized (
  select id, state
    from stint.job
   where id = any(:ids::uuid[])
     and (created_at <= :asOf::timestamptz or created_at > stint.now() + interval '1 day')
     for update skip locked
), gone as (
  delete from stint.job
   where id = any(array(select id from target where state <> 'running'))
  returning *
), counted as (
  insert into stint.stat_settle (minute, queue, kind, cancelled)
  select date_trunc('minute', stint.now()), queue, kind, count(*)
    from gone
   group by queue, kind
),
-- include: jobs/cancelled-members
, ended as (
  insert into stint.finished (
    node, member,
    -- include: jobs/finished-columns
  )
  select node, member, :reason::text,
         -- include: jobs/cancelled
    from gone
), asked as (
  update stint.job
     set cancel_at     = coalesce(cancel_at, stint.now()),
         cancel_reason = case when cancel_at is null then :reason::text else cancel_reason end
   where id = any(array(select id from target where state = 'running'))
  returning id, epoch, worker_id
)
select id, 'acted' as outcome, null as reason, epoch, null::uuid as worker from gone
union all
select id, 'acted', null, epoch, worker_id from asked
