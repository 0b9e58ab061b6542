-- Store the jobs of times that a person chose: now, or a range that is made up for. A time that fired before does not fire
-- again; one that was missed or skipped does.
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
  on conflict (schedule, fire_at) do update
     set outcome = excluded.outcome,
         job_id  = excluded.job_id,
         reason  = excluded.reason,
         at      = excluded.at
   where f.outcome in ('missed', 'skipped')
  returning f.fire_at, f.job_id
)
insert into stint.job (id, queue, kind, key, priority, max_attempts, version, correlation_id, deadline_at, search, options, input)
select fires.job_id, wanted.queue, wanted.kind, wanted.job ->> 'key', (wanted.job ->> 'priority')::smallint,
       (wanted.job ->> 'maxAttempts')::integer, (wanted.job ->> 'version')::smallint, wanted.job ->> 'correlationId',
       stint.now() + (wanted.job ->> 'deadlineMs')::float8 * interval '1 millisecond',
       array(select jsonb_array_elements_text(wanted.job -> 'tokens')) || ('schedule:' || :name::text),
       coalesce(wanted.job -> 'options', '{}') || jsonb_build_object(
         'fireAt', to_char(wanted.fire_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
       wanted.input
  from fires
  join wanted on wanted.job_id = fires.job_id
returning id, priority, key is not null as keyed
