-- Make a dead letter a live job again, if it is still the one that the caller has read: same id, options, key,
-- correlation and search words, so that a caller that has its id finds it.
--
-- The epoch stays, so that a worker with an old lease stays fenced. The numbering of attempts goes on, and the job gets
-- as many new attempts as it had. The unique key is taken again: if a live job has it, the insert fails and the delete
-- with it. A deadline is dropped: a person wants the job to run now, however late it is.
with back as (
  delete from stint.dead
   where id = :id::uuid
     and epoch = :epoch::integer
     and discarded_at is null
     and replaced_by is null
  returning *
),
-- include: jobs/replayed-members
insert into stint.job (
  id, created_at, run_at, state, epoch, attempt, max_attempts, attempts_before, crashes, priority, version,
  queue, kind, key, input, input_blob, unique_key, unique_until_start,
  correlation_id, traceparent, tracestate, parent_id, flow_id, node, member, search, options, replaces
)
select id, created_at, stint.now() + :delayMs::float8 * interval '1 millisecond',
       case when :delayMs::float8 > 0 then 'scheduled' else 'ready' end::stint.job_state,
       epoch, attempt, attempt + max_attempts - coalesce(attempts_before, 0), attempt, 0, priority, version,
       queue, kind, key, input, input_blob, unique_key, unique_until_start,
       correlation_id, traceparent, tracestate, parent_id, flow_id, node, member, search, options, replaces
  from back
returning id
