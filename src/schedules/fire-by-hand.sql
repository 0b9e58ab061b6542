-- Store the jobs of fire times that a person chose: now, or the times of a backfill.
with wanted as (
  select coalesce(w."fireAt", date_trunc('milliseconds', stint.now())) as fire_at, w."jobId" as job_id,
         coalesce(w.job, s.job) as job, coalesce(w.input, s.input, 'null') as input, s.kind, s.queue
    from stint.schedule as s
   cross join jsonb_to_recordset(:times::text::jsonb) as w ("fireAt" timestamptz, "jobId" uuid, job jsonb, input jsonb)
   where s.name = :name::text
     and not exists (select from stint.fire as f where f.schedule = s.name and f.job_id = w."jobId")
), fires as (
  insert into stint.fire as f (schedule, fire_at, outcome, job_id, reason)
  select :name::text, fire_at, 'fired', job_id, :reason::text
    from wanted
  -- include: schedules/or-fire-again
  returning f.job_id
)
-- include: schedules/store-job
  from fires
  join wanted using (job_id)
returning id, priority, key is not null as keyed
