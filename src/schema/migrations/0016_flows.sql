-- Flows: jobs that start after other jobs have ended, and the counts that decide when.
--
-- A flow is a graph of nodes; a node is one job or a group of jobs. A statement that ends a job of a flow adds a row to
-- stint.flow_ending, and stint.count_endings() adds these rows up in a transaction of its own. Settles never wait for each
-- other at the row of a flow, and a fault in counting stops no settle (docs/decisions/0037-endings-are-counted-afterwards.md).
--
-- Lock: none that matters; every object is new.
-- breaking: no

create table stint.flow (
  id            uuid             not null,                          -- UUIDv7, made by the caller
  type          text             not null default 'flow',           -- flow; children: the jobs that the handler of parent_id made
  name          text collate "C" not null,
  parent_id     uuid,                                               -- the job that made it
  open_nodes    integer          not null,                          -- nodes that are not complete; at 0 the flow has ended
  created_at    timestamptz      not null default stint.now(),
  ended_at      timestamptz,
  unique_key    text collate "C",                                   -- one open flow of this name may have it
  cancel_at     timestamptz,                                        -- since when its jobs are cancelled
  cancel_reason text,
  constraint flow_pkey primary key (id),
  constraint flow_in_bounds check (type in ('flow', 'children') and octet_length(name) between 1 and 128
                                   and octet_length(unique_key) between 1 and 512)
) with (fillfactor = 70);

create unique index flow_unique on stint.flow (name, unique_key) where unique_key is not null and ended_at is null;
create index flow_parent on stint.flow (parent_id) where parent_id is not null;
create index flow_open on stint.flow (id) where ended_at is null;
create index flow_cancelled on stint.flow (id) where cancel_at is not null and ended_at is null;
create index flow_ended on stint.flow (ended_at) where ended_at is not null;

-- An edge leads from a node to one that waits for it. It fires or is lost, once. Edges are arrays of node numbers here and
-- not rows, so the lock of the flow covers them.
create table stint.flow_node (
  flow_id      uuid             not null,
  node         smallint         not null,
  name         text collate "C" not null,
  needs        smallint         not null default 0,                 -- edges that must still fire before its jobs may start
  chances      smallint         not null default 0,                 -- edges that may still fire
  total        integer          not null,                           -- its jobs
  remaining    integer          not null,                           -- those that have not ended
  succeeded    integer          not null default 0,
  dead         integer          not null default 0,
  cancelled    integer          not null default 0,
  skips        boolean          not null default false,             -- a death is final: edges to its success are lost at once
  -- Each becomes true once and stays so, also if a dead job is replayed.
  is_decided   boolean          not null default false,             -- whether it succeeds is known: on_succeeded fired or was lost
  has_ended    boolean          not null default false,             -- all jobs had ended: on_ended fired
  has_died     boolean          not null default false,             -- a job was dead: on_dead fired
  is_complete  boolean          not null default false,             -- it keeps its flow open no longer
  on_succeeded smallint[],                                          -- the nodes at the other ends of its edges
  on_ended     smallint[],
  on_dead      smallint[],
  constraint flow_node_pkey primary key (flow_id, node),
  constraint flow_node_in_bounds check (node >= 0 and octet_length(name) between 1 and 128 and total between 0 and 10000000)
) with (fillfactor = 50);

-- Jobs of flows that have ended and are not counted yet. A replay has dead = -1. A row without a node cancels its flow: the
-- flow's parent was cancelled, or a person asked for it.
create table stint.flow_ending (
  flow_id    uuid        not null,
  node       smallint,
  succeeded  integer     not null default 0,
  dead       integer     not null default 0,
  cancelled  integer     not null default 0,
  written_at timestamptz not null default stint.now(),
  constraint flow_ending_in_bounds check (succeeded between 0 and 1000000 and dead between -1000000 and 1000000
                                          and cancelled between 0 and 1000000)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index flow_ending_flow on stint.flow_ending (flow_id);

-- How the jobs ended whose results other jobs read: history may be dropped before the flow ends.
create table stint.flow_output (
  flow_id uuid            not null,
  node    smallint        not null,
  member  integer         not null,
  job_id  uuid            not null,
  state   stint.job_state not null,
  result  jsonb,
  error   jsonb,
  constraint flow_output_pkey primary key (flow_id, node, member)
);

-- Jobs that wait until another job, of any sort, has ended. The leader looks every second.
create table stint.job_watch (
  target_id uuid not null,
  job_id    uuid not null,                                          -- the job that waits
  constraint job_watch_pkey primary key (target_id, job_id)
);

create index job_watch_job on stint.job_watch (job_id);

-- Counts the endings of these flows: ends nodes and flows, wakes parents, releases the jobs that may start now.
--
-- Returns hints for workers, each sort of released job once ('ready': queue, priority, key), and the flows that another
-- session counts at this moment ('busy': id). It never waits for a flow: that session, or the next, counts what is left.
-- The row of the flow is locked before its endings are read, so no two sessions decide about one flow at once.
--
-- Locks are taken in one order: the caller's own running jobs, then flows, then jobs that wait. A session that holds a flow
-- never waits for a running job, whose handler may hold its row for as long as a lease.
--
-- The settings are for the planner, whose statistics of these tables are always wrong: it compared each node with each job.
create function stint.count_endings(flows uuid[])
returns table (type text, id uuid, queue text, priority smallint, key text)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  free          uuid[];
  cancelled_ids uuid[];
  changes       jsonb;
  edges         jsonb;
begin
  free := array(select f.id from stint.flow as f where f.id = any(flows) for no key update skip locked);
  return query
  select 'busy', f.id, null::text, null::smallint, null::text
    from stint.flow as f
   where f.id = any(flows)
     and f.id <> all(free);

  with taken as (
    delete from stint.flow_ending as e
     where e.flow_id = any(free)
    returning e.flow_id, e.node, e.succeeded, e.dead, e.cancelled
  ), cancelling as materialized (
    select distinct t.flow_id from taken as t where t.node is null
  ), summed as (
    select ended.flow_id, ended.node,
           least(sum(ended.succeeded), 1000000)::integer as succeeded,
           least(greatest(sum(ended.dead), -1000000), 1000000)::integer as dead,
           least(sum(ended.cancelled), 1000000)::integer as cancelled
      from (select t.flow_id, t.node, t.succeeded, t.dead, t.cancelled from taken as t where t.node is not null
             union all
            -- A cancelled flow is not held open by its dead jobs: each of its nodes is looked at again.
            select n.flow_id, n.node, 0, 0, 0 from cancelling as c join stint.flow_node as n on n.flow_id = c.flow_id) as ended
     group by ended.flow_id, ended.node
  ), added as (
    select o.flow_id, o.node, o.is_decided, o.has_ended, o.has_died, o.is_complete, o.remaining > 0 as was_open,
           o.remaining - (s.succeeded + s.dead + s.cancelled) as remaining,
           o.succeeded + s.succeeded as succeeded, o.dead + s.dead as dead, o.cancelled + s.cancelled as cancelled,
           o.skips or exists (select from cancelling as c where c.flow_id = o.flow_id) as skips,
           s.dead > 0 or s.cancelled > 0 as dies
      from summed as s
      join stint.flow_node as o on o.flow_id = s.flow_id and o.node = s.node
  ), counted as (
    update stint.flow_node as n
       set remaining   = a.remaining,
           succeeded   = a.succeeded,
           dead        = a.dead,
           cancelled   = a.cancelled,
           skips       = a.skips,
           is_decided  = a.is_decided or a.remaining <= 0 and a.dead <= 0 or a.skips and a.dead > 0,
           has_ended   = a.has_ended or a.remaining <= 0,
           has_died    = a.has_died or a.dead > 0,
           is_complete = a.is_complete or a.remaining <= 0 and (a.dead <= 0 or a.skips)
      from added as a
     where n.flow_id = a.flow_id
       and n.node = a.node
    returning n.flow_id, n.on_succeeded, n.on_ended, n.on_dead,
              n.cancelled <= 0 and n.dead <= 0 as succeeds, n.has_died as had_death,
              n.is_decided and not a.is_decided as decides,
              n.has_ended and not a.has_ended as ends_first,
              n.has_died and not a.has_died as dies_first,
              n.is_complete and not a.is_complete as completes,
              a.was_open and n.remaining <= 0 as ends, a.dies
  ), edge as (
    select c.flow_id, unnest(c.on_succeeded) as node, c.succeeds as fires from counted as c where c.decides
     union all
    select c.flow_id, unnest(c.on_ended), true from counted as c where c.ends_first
     union all
    select c.flow_id, unnest(c.on_dead), c.dies_first from counted as c where c.dies_first or c.decides and not c.had_death
  ), fired as (
    select e.flow_id, e.node, count(*) filter (where e.fires) as fires, count(*) filter (where not e.fires) as losses
      from edge as e
     group by e.flow_id, e.node
  ), changed as (
    select c.flow_id, count(*) filter (where c.completes) as completed, bool_or(c.ends) as ends, bool_or(c.dies) as dies
      from counted as c
     where c.completes or c.ends or c.dies
     group by c.flow_id
  )
  select (select jsonb_agg(to_jsonb(c)) from changed as c),
         (select jsonb_agg(to_jsonb(f)) from fired as f),
         (select array_agg(c.flow_id) from cancelling as c)
    into changes, edges, cancelled_ids;

  if cancelled_ids is not null then
    update stint.flow as f
       set cancel_at     = stint.now(),
           cancel_reason = 'the job that made it was cancelled'
     where f.id = any(cancelled_ids)
       and f.cancel_at is null;
  end if;
  if changes is not null then
    return query select 'ready', null::uuid, w.queue, w.priority, w.key from stint.note_node_endings(changes) as w;
  end if;
  if edges is not null then
    return query select 'ready', null::uuid, r.queue, r.priority, r.key from stint.fire_edges(edges) as r;
  end if;
end
$$;

-- A part of count_endings(). Notes in their flows that nodes are complete, and wakes the jobs that wait for an end or a failure.
-- :changes is a list of { flow_id, completed, ends, dies }; `dies` says that a job of the node is dead or was cancelled.
--
-- A job waits for a flow until "ended"; or until "failed", which is when a job of it is dead or cancelled; or until "dead",
-- which is the first of both.
create function stint.note_node_endings(changes jsonb)
returns table (queue text, priority smallint, key text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  parents  uuid[];
  children uuid[];
  are_over boolean[];
  fail     boolean[];
begin
  with noted as (
    update stint.flow as f
       set open_nodes = f.open_nodes - c.completed,
           ended_at   = coalesce(f.ended_at, case when f.open_nodes <= c.completed then stint.now() end)
      from jsonb_to_recordset(changes) as c (flow_id uuid, completed integer, ends boolean, dies boolean)
     where f.id = c.flow_id
    returning f.id, f.parent_id, c.dies, case f.type when 'children' then c.ends else f.open_nodes <= 0 end as is_over
  )
  select array_agg(n.parent_id), array_agg(n.id), array_agg(n.is_over), array_agg(n.dies)
    from noted as n
   where n.parent_id is not null
     and (n.is_over or n.dies)
    into parents, children, are_over, fail;
  if parents is null then
    return;
  end if;
  -- By id, and the state as text: the planner takes the index of waiting jobs for empty, and compared each with each.
  return query
  with woken as (
    update stint.job as j
       set state  = 'ready',
           run_at = stint.now()
     where j.id = any(parents)
       and j.state::text = 'waiting'
       and exists (select
                     from unnest(parents, children, are_over, fail) as w (parent_id, flow_id, is_over, fails)
                    where w.parent_id = j.id
                      and case j.waits -> 'flows' ->> w.flow_id::text when 'ended' then w.is_over when 'failed' then w.fails when 'dead' then true end)
    returning j.queue::text, j.priority, j.key
  )
  select distinct w.queue, w.priority, w.key from woken as w;
end
$$;

-- A part of count_endings(). Fires and loses edges to nodes: releases the jobs of nodes that need no further edge, and
-- cancels those of nodes whose needed edges are lost. :edges is a list of { flow_id, node, fires, losses }.
--
-- A released job gets its delay and deadline from now on; they are in `waits` until then. A job that is cancelled becomes
-- ready with cancel_at: a worker claims it and ends it, and that ending is counted in its turn.
create function stint.fire_edges(edges jsonb)
returns table (queue text, priority smallint, key text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  starting_flows uuid[];
  starting_nodes smallint[];
  skipped_flows  uuid[];
  skipped_nodes  smallint[];
begin
  with reached as (
    update stint.flow_node as n
       set needs   = n.needs - e.fires,
           chances = n.chances - e.fires - e.losses
      from jsonb_to_recordset(edges) as e (flow_id uuid, node smallint, fires smallint, losses smallint)
     where n.flow_id = e.flow_id
       and n.node = e.node
    returning n.flow_id, n.node,
              n.needs + e.fires > 0 and n.needs <= 0 as starts,
              n.needs > 0 and n.needs > n.chances as is_skipped
  )
  select array_agg(r.flow_id) filter (where r.starts), array_agg(r.node) filter (where r.starts),
         array_agg(r.flow_id) filter (where r.is_skipped), array_agg(r.node) filter (where r.is_skipped)
    from reached as r
    into starting_flows, starting_nodes, skipped_flows, skipped_nodes;

  -- By id, and the state as text: the planner takes the index of waiting jobs for empty, and compared each with each.
  if starting_flows is not null then
    return query
    with released as (
      update stint.job as j
         set state       = case when wait.delay > interval '0' then 'scheduled' else 'ready' end::stint.job_state,
             run_at      = stint.now() + wait.delay,
             deadline_at = coalesce(j.deadline_at, stint.now() + wait.delay + wait.deadline),
             waits       = null
        from unnest(starting_flows, starting_nodes) as s (flow_id, node)
       cross join lateral (
               select m.id as job_id, coalesce(stint.milliseconds(m.waits -> 'delayMs'), interval '0') as delay,
                      stint.milliseconds(m.waits -> 'deadlineMs') as deadline
                 from stint.job as m
                where m.flow_id = s.flow_id
                  and m.node = s.node
               offset 0) as wait
       where j.id = wait.job_id
         and j.state::text = 'waiting'
      returning j.queue::text, j.priority, j.key
    )
    select distinct r.queue, r.priority, r.key from released as r;
  end if;

  if skipped_flows is not null then
    return query
    with skipped as (
      update stint.job as j
         set state         = 'ready',
             run_at        = stint.now(),
             cancel_at     = coalesce(j.cancel_at, stint.now()),
             cancel_reason = coalesce(j.cancel_reason, 'skipped: a job that it needs did not succeed'),
             waits         = null
       where j.id = any(array(
               select m.id
                 from unnest(skipped_flows, skipped_nodes) as s (flow_id, node)
                cross join lateral (
                        select o.id from stint.job as o where o.flow_id = s.flow_id and o.node = s.node offset 0) as m))
         and j.state::text = 'waiting'
      returning j.queue::text, j.priority, j.key
    )
    select distinct s.queue, s.priority, s.key from skipped as s;
  end if;
end
$$;

-- A stored number of milliseconds, at most ten years; null if it is no number.
create function stint.milliseconds(value jsonb) returns interval
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) is distinct from 'number' then
    return null;
  end if;
  return least(greatest(value::numeric, 0), 315576000000)::float8 * interval '1 millisecond';
end
$$;

-- Stores flows with their nodes and jobs, all of them or none. :flows is a JSON list:
--   { id, name, uniqueKey?, parentId?, nodes: [{ name, needs, chances, skips, onSucceeded, onEnded, onDead, groups }] }
-- An edge is the index of a node in the list. A group has the members of one in jobs/enqueue.sql, and `places`: the place of
-- each job in its node, or null where no job reads its result. A group with `inputBlob` has one job.
--
-- Answers for each flow: stored, now or by an earlier call with the same id; or kept, with the id of the open flow that has
-- its unique key.
--
-- The jobs of a node that needs edges wait with run_at in ten years: no infinity in arithmetic.
create function stint.enqueue_flows(flows text)
returns table (ordinal integer, flow_id uuid, outcome text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  given   jsonb := flows::jsonb;
  added   uuid[];
  stored  uuid[] := '{}';
  pending integer;
  bad     text;
begin
  select jsonb_array_length(g -> 'nodes')
    from jsonb_array_elements(given) as g
   where jsonb_array_length(g -> 'nodes') not between 1 and 1000
   limit 1
    into bad;
  if bad is not null then
    perform stint.refuse('nodes', 'to be a list of 1 to 1000 nodes', bad);
  end if;
  for try in 1 .. 100 loop
    -- In the order of the unique keys, so that two calls never wait for each other.
    with new_flow as (
      insert into stint.flow as f (id, type, name, parent_id, open_nodes, unique_key)
      select g.id, 'flow', g.name, g."parentId", jsonb_array_length(g.nodes), g."uniqueKey"
        from jsonb_to_recordset(given) as g (id uuid, name text, "parentId" uuid, "uniqueKey" text, nodes jsonb)
       order by g.name, g."uniqueKey", g.id
      on conflict do nothing
      returning f.id
    )
    select array_agg(n.id) from new_flow as n into added;
    stored := stored || added;

    -- An open flow with the same unique key may have ended between the two statements: then try again.
    select count(*)
      from jsonb_to_recordset(given) as g (id uuid, name text, "uniqueKey" text)
     where not exists (select from stint.flow as f where f.id = g.id)
       and not exists (select
                         from stint.flow as f
                        where f.name = g.name
                          and f.unique_key = g."uniqueKey"
                          and f.unique_key is not null
                          and f.ended_at is null)
      into pending;
    exit when pending = 0;
  end loop;
  if pending > 0 then
    raise exception 'could not store % flows after 100 tries', pending using errcode = 'serialization_failure';
  end if;

  insert into stint.flow_node (flow_id, node, name, needs, chances, skips, total, remaining, on_succeeded, on_ended, on_dead)
  select f.id, n.place - 1, n.name, n.needs, n.chances, coalesce(n.skips, false), size.jobs, size.jobs,
         n."onSucceeded", n."onEnded", n."onDead"
    from jsonb_to_recordset(given) as f (id uuid, nodes jsonb)
   cross join lateral rows from (
           jsonb_to_recordset(f.nodes) as (
             name text, needs smallint, chances smallint, skips boolean, "onSucceeded" smallint[], "onEnded" smallint[],
             "onDead" smallint[], groups jsonb))
         with ordinality as n (name, needs, chances, skips, "onSucceeded", "onEnded", "onDead", groups, place)
   cross join lateral (
           select coalesce(sum(jsonb_array_length(g -> 'ids')), 0)::integer as jobs from jsonb_array_elements(n.groups) as g) as size
   where f.id = any(stored);
  -- Nothing would ever end a node without a job.
  select n.name from stint.flow_node as n where n.flow_id = any(stored) and n.total = 0 limit 1 into bad;
  if bad is not null then
    perform stint.refuse('groups', 'to have a job', bad);
  end if;

  insert into stint.job (
    id, state, queue, kind, key, priority, run_at, max_attempts, version,
    correlation_id, traceparent, tracestate, parent_id, flow_id, node, member, deadline_at, search, options, waits,
    input, input_blob)
  select job.id,
         case when n.needs > 0 then 'waiting' when due.at > stint.now() then 'scheduled' else 'ready' end::stint.job_state,
         g.queue, g.kind, g.key, g.priority,
         case when n.needs > 0 then stint.now() + interval '3652.5 days' else due.at end,
         g."maxAttempts", g.version, g."correlationId", g.traceparent, g.tracestate, g."parentId",
         f.id, n.place - 1, job.place,
         coalesce(g."deadlineAt", case when n.needs <= 0 then due.at + g."deadlineMs" * interval '1 millisecond' end),
         g.tokens, g.options,
         case when n.needs > 0 then jsonb_strip_nulls(jsonb_build_object(
                'node', true, 'delayMs', g."delayMs", 'deadlineMs', case when g."deadlineAt" is null then g."deadlineMs" end)) end,
         case when g."inputBlob" is null then job.input end, g."inputBlob"
    from jsonb_to_recordset(given) as f (id uuid, nodes jsonb)
   cross join lateral rows from (
           jsonb_to_recordset(f.nodes) as (needs smallint, groups jsonb)) with ordinality as n (needs, groups, place)
   cross join lateral jsonb_to_recordset(n.groups) as g (
           queue text, kind text, key text, priority smallint, "runAt" timestamptz, "delayMs" float8,
           "maxAttempts" integer, version smallint, "correlationId" text, traceparent text, tracestate text,
           "parentId" uuid, "deadlineAt" timestamptz, "deadlineMs" float8, tokens text[], options jsonb,
           ids uuid[], places integer[], inputs jsonb, "inputBlob" text)
   cross join lateral (
           select coalesce(g."runAt", stint.now() + g."delayMs" * interval '1 millisecond', stint.now()) as at) as due
   cross join lateral rows from (unnest(g.ids), unnest(g.places), jsonb_array_elements(g.inputs)) as job (id, place, input)
   where f.id = any(stored);

  insert into stint.blob (key, job_id)
  select g.value ->> 'inputBlob', (g.value -> 'ids' ->> 0)::uuid
    from jsonb_to_recordset(given) as f (id uuid, nodes jsonb)
   cross join lateral jsonb_array_elements(f.nodes) as n
   cross join lateral jsonb_array_elements(n.value -> 'groups') as g
   where f.id = any(stored)
     and g.value ? 'inputBlob'
  on conflict do nothing;

  return query
  select (g.place - 1)::integer, coalesce(own.id, held.id), case when own.id is not null then 'stored' else 'kept' end
    from rows from (jsonb_to_recordset(given) as (id uuid, name text, "uniqueKey" text)) with ordinality as g (id, name, "uniqueKey", place)
    left join stint.flow as own on own.id = g.id
    left join stint.flow as held
      on own.id is null
     and held.name = g.name
     and held.unique_key = g."uniqueKey"
     and held.unique_key is not null
     and held.ended_at is null
   order by g.place;
end
$$;
