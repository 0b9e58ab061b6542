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
  insert into stint.job (id, queue, kind, key, priority, max_attempts, version, correlation_id, deadline_at, search, options, input)
  select job_id, queue, kind, job ->> 'key', (job ->> 'priority')::smallint, (job ->> 'maxAttempts')::integer,
         (job ->> 'version')::smallint, job ->> 'correlationId',
         stint.now() + (job ->> 'deadlineMs')::float8 * interval '1 millisecond',
         array(select jsonb_array_elements_text(job -> 'tokens')) || ('schedule:' || :name::text),
         coalesce(job -> 'options', '{}') || jsonb_build_object(
           'fireAt', to_char(fire_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
         input
    from fires
  returning id, priority, key is not null as keyed
)
select fires.queue, fires.kind, fires.reason, stored.priority, stored.keyed
  from fires
  join stored on stored.id = fires.job_id
