-- What is needed when things break: who is to blame for a crash, how a worker ended, and asking a running job to stop.
--
-- Lock: access exclusive on job and worker, each for the moment it takes to add columns (nothing is rewritten).
-- breaking: no

alter table stint.job
  -- The lease under which its handler surely had begun; a job that was only held ready when its worker was lost did
  -- nothing to be blamed for. Compared with lease_id, so nobody has to take it back.
  add column begun_lease     uuid,
  -- It was in the hands of a worker that was lost, and may have been the reason: it runs alone until that is known.
  add column suspect         boolean     not null default false,
  add column cancel_at       timestamptz,                           -- when it was asked to stop while it ran
  add column cancel_reason   text;

alter table stint.worker
  add column rss_bytes       bigint,                                -- its memory, as of the last heartbeat
  add column death           text;                                  -- how its process ended, where somebody saw it

-- How a worker ended, for people: what was seen, or what can be said all the same.
create function stint.death_of(worker uuid) returns text
language sql stable set search_path = pg_catalog, pg_temp
return (
  select coalesce(
           (select coalesce(ended.death, 'its lease ran out')
                   || coalesce(', with ' || ended.rss_bytes / 1048576 || ' MB of memory at its last heartbeat', '')
              from stint.worker as ended
             where ended.id = worker),
           'nothing is known of it'));

create or replace view stint.jobs as
select 'live' as place, id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, null::timestamptz as finished_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       null::text as reason, null::timestamptz as discarded_at, null::uuid as replaced_by,
       input, input_blob, null::jsonb as result, null::jsonb as error,
       progress, attempts_before, replaces, suspect, cancel_at
  from stint.job
union all
select 'finished', id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, finished_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       reason, null, null, input, input_blob, result, null, null, attempts_before, replaces, false, null
  from stint.finished
union all
select 'dead', id, 'dead', queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, died_at, deadline_at, worker_id,
       correlation_id, traceparent, tracestate, parent_id, flow_id, search, options,
       reason, discarded_at, replaced_by, input, input_blob, null, error, progress, attempts_before, replaces,
       false, null
  from stint.dead;
