-- Move a ready job whose row cannot be claimed to the dead letters: no other statement would ever remove it.
--
-- Such a row may have any value, so values that the dead letters have an index on are cut to fit. The error names the
-- columns that a claim increments and that are at their limit.
with gone as (
  delete from stint.job
   where id = :id::uuid
     and state = 'ready'
  returning *
), counted as (
  insert into stint.stat_settle (minute, queue, kind, dead)
  select date_trunc('minute', stint.now()), queue, kind, 1
    from gone
), member_ended as (
  insert into stint.flow_ending (flow_id, node, dead)
  select flow_id, node, 1
    from gone
   where flow_id is not null
     and node is not null
), output as (
  insert into stint.flow_output (flow_id, node, member, job_id, state, error)
  select flow_id, node, member, id, 'dead',
         jsonb_build_object('class', 'invalid', 'name', 'StintError', 'code', 'invalid-row', 'message', 'Its row cannot be claimed.')
    from gone
   where flow_id is not null
     and node is not null
     and member is not null
  on conflict do nothing
)
insert into stint.dead (
  node, member,
  -- include: jobs/dead-columns
)
select node, member, id, queue, kind, left(key, 128), priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, stint.now(), deadline_at, worker_id, lease_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id,
       case when search is not null
            then array(select left(word, 80) from unnest(search) as word where word is not null limit 8) end,
       options, input, input_blob,
       progress, failures, attempts_before, replaces, unique_key, unique_until_start, 'invalid-row',
       jsonb_build_object(
         'class', 'invalid', 'name', 'StintError', 'code', 'invalid-row',
         'message', format('Its row cannot be claimed: %s.', :why::text)
                      || case when attempt = 2147483647 then ' `attempt` is 2147483647.' else '' end
                      || case when epoch = 2147483647 then ' `epoch` is 2147483647.' else '' end,
         'causes', '[]'::jsonb),
       substr(md5('invalid-row ' || kind), 1, 16)
  from gone
returning id, kind, queue, key, attempt, max_attempts as "maxAttempts", epoch,
          coalesce(correlation_id, id::text) as "correlationId", error, fingerprint
