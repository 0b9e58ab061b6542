-- Store the job of a fire whose time a person chose: it is ready at once. Reads job_id, queue, kind, job, fire_at and input.
insert into stint.job (id, queue, kind, key, priority, max_attempts, version, correlation_id, deadline_at, search, options, input)
select job_id, queue, kind, job ->> 'key', (job ->> 'priority')::smallint, (job ->> 'maxAttempts')::integer,
       (job ->> 'version')::smallint, job ->> 'correlationId',
       stint.now() + (job ->> 'deadlineMs')::float8 * interval '1 millisecond',
       array(select jsonb_array_elements_text(job -> 'tokens')) || ('schedule:' || :name::text),
       coalesce(job -> 'options', '{}') || jsonb_build_object(
         'fireAt', to_char(fire_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
       input
