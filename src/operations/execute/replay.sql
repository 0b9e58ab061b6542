-- Bring dead letters back as jobs/dead/replay.sql does one: those that are still dead, were so when the operation was started,
-- and are neither in the trash nor edited into another job.
--
-- One whose unique key a live job has stays; so do the second and further ones of a unique key. Where a job takes the key at
-- this moment the statement fails as a whole, and is sent again.
with target as materialized (
  select id,
         row_number() over (partition by queue, unique_key order by id desc) = 1 or unique_key is null as is_first,
         exists (select from stint.job where job.queue = dead.queue and job.unique_key = dead.unique_key) as is_taken
    from stint.dead
   where id = any(:ids::uuid[])
     and (died_at <= :asOf::timestamptz or died_at > stint.now() + interval '1 day')
     and discarded_at is null
     and replaced_by is null
), back as (
  delete from stint.dead
   where id = any(array(select id from target where is_first and not is_taken))
     and (died_at <= :asOf::timestamptz or died_at > stint.now() + interval '1 day')
     and discarded_at is null
     and replaced_by is null
  returning *
),
-- include: jobs/replayed-members
, stored as (
  insert into stint.job (
    id, created_at, run_at, state, epoch, attempt, max_attempts, attempts_before, crashes, priority, version,
    queue, kind, key, input, input_blob, unique_key, unique_until_start,
    correlation_id, traceparent, tracestate, parent_id, flow_id, node, member, search, options, replaces
  )
  select id, created_at, stint.now(), 'ready',
         epoch, attempt, attempt + max_attempts - coalesce(attempts_before, 0), attempt, 0, priority, version,
         queue, kind, key, input, input_blob, unique_key, unique_until_start,
         correlation_id, traceparent, tracestate, parent_id, flow_id, node, member, search, options, replaces
    from back
  returning id
)
select id, 'acted' as outcome, null as reason, epoch, fingerprint, queue, priority, key is not null as keyed
  from back
union all
select id, 'skipped', 'another job has its unique key', null, null, null, null, null
  from target
 where is_taken or not is_first
