-- End jobs of cancelled flows, 500 at a time; those that run are asked to stop. A row that is locked is passed by: its handler
-- is about to complete it, or another session ends it.
with flow as materialized (
  select id, coalesce(cancel_reason, 'its flow was cancelled') as reason
    from stint.flow
   where cancel_at is not null
     and ended_at is null
     and id > :after::uuid
   order by id
   limit 100
), target as materialized (
  select member.id, member.state, flow.reason
    from flow
   cross join lateral (
           select job.id, job.state
             from stint.job
            where job.flow_id = flow.id
              and (job.state <> 'running' or job.cancel_at is null)
            limit 500
              for update skip locked) as member
   limit 500
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
  select node, member, (select reason from target where target.id = gone.id),
         -- include: jobs/cancelled
    from gone
), asked as (
  update stint.job
     set cancel_at     = stint.now(),
         cancel_reason = (select reason from target where target.id = job.id)
   where id = any(array(select id from target where state = 'running'))
  returning worker_id
)
select (select count(*)::integer from target) as ended,
       (select max(id::text) from flow having count(*) = 100) as "last",
       array(select distinct worker_id from asked where worker_id is not null) as workers
