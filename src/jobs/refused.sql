-- Note settles that came too late: the job belongs to another lease, and the result was not stored.
insert into stint.attempt (job_id, epoch, attempt, outcome, worker_id, lease_id, started_at, ended_at, reason)
select (item ->> 'id')::uuid, (item ->> 'epoch')::integer, (item ->> 'attempt')::integer, 'refused',
       (item ->> 'worker')::uuid, (item ->> 'lease')::uuid,
       stint.now() - (item ->> 'ranMs')::float8 * interval '1 millisecond', stint.now(), item ->> 'reason'
  from jsonb_array_elements(:items::jsonb) as item
