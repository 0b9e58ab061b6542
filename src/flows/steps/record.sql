-- Write records of steps, of many jobs at once, where their leases still hold. Returns the records that were written.
--
-- :steps is a list of { job, lease, name, n, seq, type, state, epoch, tries, beside, ms, untilMs or untilAt, result, blob, error }; `ms` is
-- how long ago the step began. The lock on the job's row makes the fence exact: no claim can come between the look and the
-- write. A row that is in use is passed by; record-alone.sql waits for it.
-- A result of null is JSON's null, and none is SQL's: as a column of the record both would be SQL's.
-- The same record again, after a lost reply, is answered; one of an older attempt is not.
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
            limit 1
              for no key update skip locked) as job
), blobs as (
  insert into stint.blob (key, job_id)
  select blob, id
    from fence
   where blob is not null
      on conflict do nothing
)
-- include: flows/record
