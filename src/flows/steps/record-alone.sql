-- Write one record as record.sql does, and wait for the job's row: another session holds it for a moment.
with fence as materialized (
  select job.id, said.*, step.said -> 'result' as result
    from jsonb_array_elements(:steps::text::jsonb) as step (said)
   cross join lateral jsonb_to_record(step.said) as said (
           job uuid, lease uuid, name text, n integer, seq integer, type text, state text, epoch integer, tries smallint,
           beside boolean, ms float8, "untilMs" float8, "untilAt" timestamptz, blob text, error jsonb)
   cross join lateral (
           select id
             from stint.job
            where id       = said.job
              and lease_id = said.lease
              for no key update) as job
), blobs as (
  insert into stint.blob (key, job_id)
  select blob, id
    from fence
   where blob is not null
      on conflict do nothing
)
-- include: flows/record
