-- Store what handlers logged, where their lease still holds.
--
-- :lines is a list of { id, lease, epoch, line, agoMs, level, message, data }.
insert into stint.log (job_id, epoch, line, at, level, message, data)
select job.id, (said ->> 'epoch')::integer, (said ->> 'line')::integer,
       stint.now() - (said ->> 'agoMs')::float8 * interval '1 millisecond',
       said ->> 'level', said ->> 'message', said -> 'data'
  from jsonb_array_elements(:lines::jsonb) as said
  join stint.job
    on job.id = (said ->> 'id')::uuid
   and job.lease_id = (said ->> 'lease')::uuid
