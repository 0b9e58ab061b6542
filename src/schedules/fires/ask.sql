-- Ask for fires at times that a person chose: a worker that has the schedule's code makes the jobs, under these ids. A time
-- that fired or was asked for before stays as it is. Sent again after a lost reply, the statement returns the same ids.
with wanted as (
  select coalesce(w."fireAt", date_trunc('milliseconds', stint.now())) as fire_at, w."jobId" as job_id
    from stint.schedule as s
   cross join jsonb_to_recordset(:times::text::jsonb) as w ("fireAt" timestamptz, "jobId" uuid)
   where s.name = :name::text
), known as materialized (
  select f.job_id
    from stint.fire as f
    join wanted on wanted.job_id = f.job_id
   where f.schedule = :name::text
), asked as (
  insert into stint.fire as f (schedule, fire_at, outcome, job_id, reason)
  select :name::text, fire_at, 'asked', job_id, :reason::text
    from wanted
   where job_id not in (select job_id from known)
  -- include: schedules/or-fire-again
  returning f.job_id
)
select job_id as id from known
union all
select job_id from asked
