-- Store the log lines of handlers, if their lease still holds.
--
-- :lines is a list of { id, lease, epoch, line, agoMs, level, message, data }.
-- `lateral … limit 1`, not a join: the planner made a join a hash of the whole table while it was small.
insert into stint.log (job_id, epoch, line, at, level, message, data)
select job.id, (said ->> 'epoch')::integer, (said ->> 'line')::integer,
       stint.now() - (said ->> 'agoMs')::float8 * interval '1 millisecond',
       said ->> 'level', said ->> 'message', said -> 'data'
  from jsonb_array_elements(:lines::jsonb) as said
 cross join lateral (
         select id
           from stint.job
          where id       = (said ->> 'id')::uuid
            and lease_id = (said ->> 'lease')::uuid
          limit 1) as job
