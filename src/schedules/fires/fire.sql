-- Decide the due times of one schedule, and store the jobs of those that fire: all of it, or nothing.
--
-- `turn` changes with every write, so an equal `turn` means that the row is still as it was when the times were computed.
-- A second process finds another turn, or the row locked, and does nothing. In any case the primary key of stint.fire
-- allows only one job per time.
-- A queued time (overlap queue-one) is passed again with each tick, and becomes 'fired' once no earlier job is live.
-- A time carries its own job and input if the schedule's code makes them; else it uses those of the schedule.
with held as materialized (
  select *
    from stint.schedule
   where name = :name::text
     and turn = :turn::bigint
     for update skip locked
), live as materialized (
  -- The live jobs of its last fires; read only for an overlap policy that needs them.
  select j.id, j.state, j.worker_id
    from (select f.job_id
            from stint.fire as f
           where f.schedule = :name::text
             and f.job_id is not null
             and (select overlap <> 'allow' from held)
           order by f.fire_at desc
           limit 100) as last
    join stint.job as j on j.id = last.job_id
), wanted as (
  select w."fireAt" as fire_at, w."runAt" as run_at, w."jobId" as job_id, w.missed, w.reason,
         coalesce(w.job, held.job) as job,
         coalesce(w.input, held.input, 'null') as input,
         held.overlap, held.kind, held.queue, held.queued_fire_at,
         row_number() over (partition by w.missed order by w."fireAt") as place,
         row_number() over (partition by w.missed order by w."fireAt" desc) as place_from_end
    from held
   cross join jsonb_to_recordset(:times::text::jsonb) as w (
           "fireAt" timestamptz, "runAt" timestamptz, "jobId" uuid, missed boolean, reason text, job jsonb, input jsonb)
), keyed as (
  select w.*,
         case when w.job -> 'unique' ? 'until'
              then w.kind || ' ' || coalesce(w.job -> 'unique' ->> 'key', encode(sha256(convert_to(w.input::text, 'UTF8')), 'hex'))
         end as unique_key
    from wanted as w
), judged as (
  select k.*,
         case
           when k.missed then 'missed'
           when k.overlap = 'skip' and (k.place > 1 or exists (select from live)) then 'skipped'
           when k.overlap = 'queue-one' and exists (select from live)
             then case when k.fire_at = coalesce(k.queued_fire_at, k.fire_at) and k.place = 1 then 'queued' else 'skipped' end
           when k.overlap = 'queue-one' and k.place > 1
             then case when k.place = 2 then 'queued' else 'skipped' end
           when k.overlap = 'cancel-previous' and k.place_from_end > 1 then 'skipped'
           when k.unique_key is not null
                and (k.place > 1 or exists (
                  select from stint.job as j where j.queue = k.queue and j.unique_key = k.unique_key)) then 'unique'
           else 'fired'
         end as verdict
    from keyed as k
), fires as (
  insert into stint.fire as f (schedule, fire_at, outcome, job_id, reason)
  select :name::text, fire_at,
         case verdict when 'unique' then 'skipped' else verdict end,
         case when verdict = 'fired' then job_id end,
         case verdict
           when 'skipped' then case when overlap = 'cancel-previous' then 'overlap: a later fire was due at the same time'
                                    else 'overlap: the previous job has not ended' end
           when 'queued' then 'overlap: waits for the previous job to end'
           when 'unique' then 'unique: a job with the same unique key exists'
           else reason
         end
    from judged
  on conflict (schedule, fire_at) do update
     set outcome = excluded.outcome,
         job_id  = excluded.job_id,
         reason  = excluded.reason,
         at      = excluded.at
   where f.outcome = 'queued'
     and excluded.outcome <> 'queued'
  returning f.fire_at, f.outcome, f.job_id, f.reason
), stored as (
  insert into stint.job (
    id, state, queue, kind, key, priority, run_at, max_attempts, version, unique_key, unique_until_start,
    correlation_id, deadline_at, search, options, input)
  select fires.job_id,
         case when judged.run_at > stint.now() then 'scheduled' else 'ready' end::stint.job_state,
         judged.queue, judged.kind, judged.job ->> 'key', (judged.job ->> 'priority')::smallint,
         greatest(judged.run_at, stint.now()),
         (judged.job ->> 'maxAttempts')::integer, (judged.job ->> 'version')::smallint,
         judged.unique_key, case when judged.job -> 'unique' ->> 'until' = 'started' then true end,
         judged.job ->> 'correlationId',
         greatest(judged.run_at, stint.now()) + (judged.job ->> 'deadlineMs')::float8 * interval '1 millisecond',
         array(select jsonb_array_elements_text(judged.job -> 'tokens')) || ('schedule:' || :name::text),
         coalesce(judged.job -> 'options', '{}') || jsonb_build_object(
           'fireAt', to_char(judged.fire_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
         judged.input
    from fires
    join judged on judged.fire_at = fires.fire_at
   where fires.outcome = 'fired'
  returning id, priority, key, run_at
), cancellable as materialized (
  -- A locked row belongs to a job that is completing inside ctx.tx: it is not cancelled.
  select j.id, j.state, j.worker_id
    from stint.job as j
   where j.id = any(array(select live.id from live))
     and (select overlap = 'cancel-previous' from held)
     and exists (select from fires where outcome = 'fired')
     for update skip locked
), asked as (
  update stint.job
     set cancel_at     = coalesce(cancel_at, stint.now()),
         cancel_reason = coalesce(cancel_reason, 'its schedule fired again')
   where id = any(array(select id from cancellable where state = 'running'))
  returning worker_id
), gone as (
  delete from stint.job
   where id = any(array(select id from cancellable where state <> 'running'))
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
  select node, member, 'its schedule fired again',
         -- include: jobs/cancelled
    from gone
  returning id
), advanced as (
  update stint.schedule
     set decided_to     = greatest(decided_to, :decidedTo::timestamptz),
         next_fire_at   = :nextFireAt::timestamptz,
         queued_fire_at = coalesce(
           (select max(fire_at) from judged where verdict = 'queued'),
           case when not exists (select from fires where fires.fire_at = queued_fire_at) then queued_fire_at end),
         turn           = case when turn < 9223372036854775807 then turn + 1 else 1 end,
         failures       = 0,
         last_error     = null,
         retry_at       = case when exists (select from judged where verdict = 'queued') then stint.now() + interval '1 second' end,
         paused_at      = case when paused_until <= stint.now() then null else paused_at end,
         pause_reason   = case when paused_until <= stint.now() then null else pause_reason end,
         paused_until   = case when paused_until <= stint.now() then null else paused_until end
   where name in (select name from held)
  returning queue
)
select queue,
       coalesce((select jsonb_agg(jsonb_build_object(
                          'fireAt', fires.fire_at, 'outcome', fires.outcome, 'jobId', fires.job_id, 'reason', fires.reason)
                          order by fires.fire_at) from fires), '[]') as fires,
       coalesce((select jsonb_agg(jsonb_build_object(
                          'priority', priority, 'keyed', key is not null,
                          'inMs', greatest(0, extract(epoch from run_at - stint.now()) * 1000))) from stored), '[]') as jobs,
       coalesce((select jsonb_agg(distinct worker_id) from asked), '[]') as asked
  from advanced
