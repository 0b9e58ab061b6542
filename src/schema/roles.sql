-- Five roles with the least rights each needs. Optional, and safe to run again: `stint migrate --roles` does so after
-- every migration, because a grant covers only existing objects. Needs a login that may create roles.
--
-- The roles cannot log in; grant them to your own logins: grant stint_producer to web_app.
-- They are named after the schema, so two Stints in one cluster share none.

do $$
declare
  role_name text;
begin
  foreach role_name in array array['stint_owner', 'stint_producer', 'stint_worker', 'stint_viewer', 'stint_operator'] loop
    -- Roles belong to the cluster: another database may have made them, perhaps at this moment.
    continue when to_regrole(role_name) is not null;
    begin
      execute 'create role ' || role_name || ' nologin';
    exception when duplicate_object or unique_violation then
      null;
    end;
  end loop;
end
$$;

do $$
begin
  -- Checked first: a login that may change the owner of tables need not be allowed to grant roles.
  if not pg_has_role('stint_operator'::regrole, 'stint_viewer'::regrole, 'member') then
    grant stint_viewer to stint_operator;
  end if;
end
$$;

-- The owner role owns everything, so the functions that run with their owner's rights have only these rights. A login
-- must be a member of a role to make it an owner.
do $$
begin
  if not pg_has_role(current_user, 'stint_owner'::regrole, 'usage') then
    execute format('grant stint_owner to %I', current_user);
  end if;
end
$$;

alter schema stint owner to stint_owner;

do $$
declare
  own_schema oid := (select relnamespace from pg_class where oid = 'stint.job'::regclass);
  handover text;
begin
  for handover in
    select format('alter %s %s owner to stint_owner', case relkind when 'v' then 'view' else 'table' end, oid::regclass)
      from pg_class
     where relnamespace = own_schema
       and relkind in ('r', 'p', 'v', 'S')
    union all
    select format('alter function %s owner to stint_owner', oid::regprocedure)
      from pg_proc
     where pronamespace = own_schema
    union all
    select format('alter type %s owner to stint_owner', oid::regtype)
      from pg_type
     where typnamespace = own_schema
       and typtype in ('d', 'e')
  loop
    execute handover;
  end loop;
end
$$;

revoke all on schema stint from public;
revoke all on all tables in schema stint from public, stint_producer, stint_worker, stint_viewer, stint_operator;
revoke all on all functions in schema stint from public, stint_producer, stint_worker, stint_viewer, stint_operator;
grant usage on schema stint to stint_producer, stint_worker, stint_viewer, stint_operator;
grant execute on function stint.now() to stint_producer, stint_worker, stint_viewer, stint_operator;

-- A producer stores jobs and reads nothing: it has these columns, and the functions that decide for it. It cannot set
-- the columns that a claim writes (epoch, lease, worker).
grant insert (id, state, queue, kind, key, priority, run_at, max_attempts, version, input, input_blob,
              correlation_id, traceparent, tracestate, parent_id, flow_id, deadline_at, search, options)
   on stint.job to stint_producer, stint_worker, stint_operator;
grant execute on function stint.is_key(text) to stint_producer, stint_worker, stint_operator;
grant execute on function stint.is_search(text[]) to stint_producer, stint_worker, stint_operator;
grant execute on function stint.is_job_options(jsonb) to stint_producer, stint_worker, stint_operator;
grant execute on function stint.enqueue(text, text, jsonb, jsonb) to stint_producer, stint_worker, stint_operator;
grant execute on function stint.enqueue_jobs(jsonb, boolean) to stint_producer, stint_worker, stint_operator;
grant execute on function stint.enqueue_flows(text) to stint_producer, stint_worker, stint_operator;
grant execute on function stint.add_to_flow(uuid, text, text) to stint_producer, stint_worker, stint_operator;
grant execute on function stint.close_flow(uuid) to stint_producer, stint_worker, stint_operator;
grant execute on function stint.rerun_flow(uuid, text, uuid) to stint_worker, stint_operator;

grant select, update, delete on stint.job to stint_worker;
grant select, insert on stint.finished, stint.attempt, stint.log to stint_worker;
grant select, insert, update, delete
   on stint.dead, stint.worker, stint.idempotency_key, stint.blob, stint.effect to stint_worker;
grant select, insert, update, delete
   on stint.stat_minute, stint.stat_hour, stint.queue_gauge, stint.error_group, stint.error_hour to stint_worker;
grant select, update on stint.gauge_refresh to stint_worker;
grant select, insert, update, delete on stint.stat_settle to stint_worker;
grant insert on stint.stat_settle to stint_operator;
grant execute on function stint.add_bins(jsonb, jsonb) to stint_worker;
grant execute on function stint.note_enqueued(uuid, integer, jsonb) to stint_producer, stint_worker, stint_operator;
grant select on stint.jobs, stint.migration to stint_worker, stint_operator;
grant execute on function stint.ensure_partitions(integer) to stint_worker, stint_operator;
grant execute on function stint.death_of(uuid) to stint_worker, stint_viewer, stint_operator;

-- Workers write the records of steps, and take signals. An operator reads the records, and accepts new code for a parked job.
grant select, insert, update, delete on stint.step, stint.signal to stint_worker;
grant select, update (beside), delete on stint.step to stint_operator;
grant execute on function stint.mail_lock(uuid) to stint_worker;
grant execute on function stint.is_awaited(jsonb, text, jsonb) to stint_worker;
grant execute on function stint.is_wait_over(jsonb) to stint_worker;
grant execute on function stint.suspend(jsonb, uuid) to stint_worker;
grant execute on function stint.signal(uuid, text, jsonb, text, text, uuid) to stint_producer, stint_worker, stint_operator;

-- Workers store flows that handlers make, and count endings. An operator cancels flows, and an act on a job of a flow leaves a
-- row for the counts; a viewer sees flows without the results in them.
grant select, insert, update, delete
   on stint.flow, stint.flow_node, stint.flow_ending, stint.flow_output, stint.job_watch to stint_worker;
grant insert (node, member, waits) on stint.job to stint_worker;
grant execute on function stint.count_endings(uuid[]) to stint_worker;
grant execute on function stint.note_node_endings(jsonb) to stint_worker;
grant execute on function stint.fire_edges(jsonb) to stint_worker;
grant execute on function stint.milliseconds(jsonb) to stint_worker;
grant execute on function stint.look_at_children(uuid, uuid, uuid[], boolean, boolean) to stint_worker;
grant select on stint.flow, stint.flow_node, stint.flow_ending to stint_viewer;
grant insert on stint.flow_ending to stint_operator;
grant update (cancel_at, cancel_reason) on stint.flow to stint_operator;
grant update (is_open, total, remaining) on stint.flow_node to stint_operator;
grant select, insert, delete on stint.flow_output to stint_operator;

-- Upkeep by a worker: the worker says when, the functions decide what is old. It does not own history, so it drops a
-- day under a short lock; only the owner can detach the day first, without that lock.
grant select, insert, update on stint.leader, stint.service, stint.index_upkeep to stint_worker;
grant select on stint.queue to stint_worker;
grant execute on function stint.old_days() to stint_worker;
grant execute on function stint.drop_day(text) to stint_worker;
grant execute on function stint.prune_day(text, interval, bigint, integer, integer) to stint_worker;
grant execute on function stint.made_at(uuid) to stint_worker;
grant execute on function stint.history_start() to stint_worker;
grant execute on function stint.kept_by_default() to stint_worker, stint_viewer, stint_operator;

-- Workers store the limits, rates and breakers of their code, claim under them, and count for them; operators override them.
-- Any process may take tokens: the functions decide how many.
grant select, insert, update, delete
   on stint.pause, stint.rate, stint.rate_bucket, stint.limit_cover, stint.concurrency_limit, stint.limit_key, stint.running_base,
      stint.breaker, stint.breaker_count, stint.breaker_change
   to stint_worker, stint_operator;
grant insert (name, is_limited, pressure, retry_budget), update (is_limited, pressure, retry_budget, updated_at)
   on stint.queue to stint_worker;
grant select, usage on sequence stint.claim_order to stint_worker;
grant execute on function stint.is_open(text) to stint_worker, stint_viewer, stint_operator;
grant execute on function stint.take_tokens(text, text, double precision, double precision, double precision, boolean, integer)
   to stint_producer, stint_worker, stint_operator;
grant execute on function stint.change_bucket(text, text, double precision, double precision)
   to stint_producer, stint_worker, stint_operator;
grant execute on function stint.closed_ms(text, text) to stint_producer, stint_worker, stint_operator;
grant execute on function stint.next_seq(bigint) to stint_worker;
grant execute on function stint.most_cost(text, jsonb) to stint_worker, stint_viewer, stint_operator;
grant execute on function stint.bucket_lock(text, text) to stint_worker, stint_viewer, stint_operator;
grant execute on function stint.tokens_per_ms(double precision, double precision, double precision, timestamptz) to stint_worker, stint_viewer, stint_operator;
grant execute on function stint.tier_max(jsonb, text) to stint_worker, stint_viewer, stint_operator;
grant execute on function stint.limits_of(text) to stint_worker, stint_viewer, stint_operator;
grant execute on function stint.running_of(text) to stint_worker, stint_operator;
grant execute on function stint.running_of_keys(text, text[]) to stint_worker, stint_operator;
grant execute on function stint.used_of(text, text[]) to stint_worker, stint_operator;
grant execute on function stint.buckets_of(text, text[]) to stint_worker, stint_viewer, stint_operator;
grant execute on function stint.wanted_of(uuid) to stint_worker;
grant execute on function stint.queue_rules(text[]) to stint_worker, stint_viewer, stint_operator;
grant execute on function stint.refresh_pressure(text[]) to stint_worker;
grant execute on function stint.pressure_of(text[]) to stint_producer, stint_worker, stint_viewer, stint_operator;
grant execute on function stint.note_refused(jsonb) to stint_producer, stint_worker, stint_operator;
grant execute on function stint.lock_limits(text, text[]) to stint_worker;
grant execute on function stint.rebase(text) to stint_worker;
grant execute on function stint.pick_limited(text, jsonb, integer, text[], smallint[], timestamptz[], uuid[], integer[], boolean[])
   to stint_worker;
grant execute on function stint.claim_limited(text, uuid, uuid, jsonb, integer, text[], smallint[], timestamptz[], uuid[], integer[], boolean[])
   to stint_worker;

-- A viewer sees everything about a job except its input, result, progress, errors and log. Search words are visible,
-- like keys and queues.
grant select (place, id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version, created_at, run_at,
              started_at, finished_at, deadline_at, worker_id, correlation_id, traceparent, tracestate, parent_id,
              flow_id, search, reason, discarded_at, replaced_by, attempts_before, replaces, suspect, cancel_at, node, member)
   on stint.jobs to stint_viewer;
grant select on stint.stat_minute, stint.stat_hour, stint.queue_gauge, stint.gauge_refresh, stint.error_hour to stint_viewer;
-- The title of an error, but not its message, which may contain data of the job.
grant select (fingerprint, kind, class, name, title, first_seen, last_seen, versions, sample_job, status, resolved_at,
              resolved_in, ignored_until, regressed_at)
   on stint.error_group to stint_viewer;
grant select on stint.migration, stint.worker, stint.leader, stint.service, stint.queue, stint.index_upkeep to stint_viewer;
grant select on stint.pause, stint.rate, stint.rate_bucket, stint.limit_cover, stint.concurrency_limit, stint.limit_key,
                stint.breaker, stint.breaker_count, stint.breaker_change
   to stint_viewer;

-- An operator also reads inputs, changes jobs that do not run (cancel, reschedule, reprioritize, update), and asks
-- running jobs to stop.
grant select on stint.job, stint.finished, stint.dead, stint.attempt, stint.log, stint.blob, stint.step, stint.signal
   to stint_operator;
grant update (state, run_at, priority, version, key, input, input_blob, unique_key, search, options, replaces,
              cancel_at, cancel_reason)
   on stint.job to stint_operator;
grant delete on stint.job to stint_operator;
grant select on stint.error_group to stint_operator;
grant update (status, resolved_at, resolved_in, ignored_until, regressed_at) on stint.error_group to stint_operator;
grant insert on stint.finished, stint.blob to stint_operator;
-- A replay restores all columns of a dead letter.
grant insert (created_at, epoch, attempt, crashes, unique_key, unique_until_start, progress, failures,
              attempts_before, replaces, node, member)
   on stint.job to stint_operator;
-- An edited copy of a dead letter takes its place in its flow.
grant update (flow_id, node, member) on stint.job to stint_operator;
grant insert, update, delete on stint.dead to stint_operator;
grant insert, update on stint.queue to stint_operator;
grant update (wanted) on stint.worker to stint_operator;
-- If no worker runs, an operator's console refreshes the figures of queues.
grant insert, update, delete on stint.queue_gauge to stint_operator;
grant update on stint.gauge_refresh to stint_operator;

-- Workers fire schedules and store those of their code; operators change the others. A viewer sees when they fire, but
-- not their input.
grant select, insert, update, delete on stint.schedule, stint.fire to stint_worker, stint_operator;
grant insert (unique_key, unique_until_start) on stint.job to stint_worker;
grant select (name, kind, queue, spec, time_zone, input_from_code, overlap, missed, missed_limit, missed_window_ms,
              jitter_ms, keep_fires_ms, starts_at, ends_at, source, app_version, paused_at, paused_until, pause_reason, decided_to,
              next_fire_at, queued_fire_at, failures, created_at, updated_at)
   on stint.schedule to stint_viewer;
grant select on stint.fire to stint_viewer;

-- An operator acts, and every manual action on jobs is noted, by a function that sets the time and the login. Only the
-- owner changes a note; upkeep removes expired ones. Operations are executed by a worker that may do what an operator
-- may: grant both roles to its login.
grant select on stint.audit to stint_operator;
grant execute on function stint.note_audit(uuid, text, text, text, text, text, text, text, jsonb, jsonb, uuid, text) to stint_operator;
grant execute on function stint.prune_audit(integer, integer) to stint_worker;
grant select on stint.retention to stint_viewer;
grant select, insert, update on stint.operation, stint.operation_job to stint_operator;
grant select, insert, update, delete on stint.http_reply to stint_operator;
grant select on stint.operation, stint.operation_job to stint_viewer;
-- Every console reads them, also one of a viewer.
grant select on stint.ended_session, stint.cursor_key to stint_viewer;
grant insert, delete on stint.ended_session to stint_operator;
-- Upkeep removes expired rows; locking a row needs the right to update it.
grant select, update, delete on stint.http_reply, stint.operation, stint.operation_job to stint_worker;
