-- Write one record as record.sql does, and wait for the job's row: another session holds it for a moment.
with fence as materialized (
  select job.id, said.*
    from jsonb_to_recordset(:steps::text::jsonb) as said (
           job uuid, lease uuid, name text, n integer, seq integer, type text, state text, epoch integer, tries smallint,
           beside boolean, ms float8, "untilMs" float8, "untilAt" timestamptz, result jsonb, blob text, error jsonb)
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
