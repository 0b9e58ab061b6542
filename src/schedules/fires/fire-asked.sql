-- Make the job of a fire that was asked for, in the statement that changes its outcome: of several workers the first one
-- does it, and one that is killed leaves all of it or nothing. Job and input come from code where code makes them.
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
