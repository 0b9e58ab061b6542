-- Store the job of an asked fire and change its outcome, in one statement: if several workers try, only the first one
-- succeeds, and a killed worker leaves all of it or nothing. :made has job and input if the schedule's code makes them.
with fires as (
  update stint.fire as f
     set outcome = 'fired',
         at      = stint.now()
    from stint.schedule as s
   cross join jsonb_to_record(:made::text::jsonb) as made (job jsonb, input jsonb)
   where f.schedule = :name::text
     and f.job_id = :jobId::uuid
     and f.outcome = 'asked'
     and s.name = f.schedule
  returning f.fire_at, f.job_id, f.reason, s.kind, s.queue,
            coalesce(made.job, s.job) as job, coalesce(made.input, s.input, 'null') as input
), stored as (
  -- include: schedules/store-job
    from fires
  returning id, priority, key is not null as keyed
)
select fires.queue, fires.kind, fires.reason, stored.priority, stored.keyed
  from fires
  join stored on stored.id = fires.job_id
