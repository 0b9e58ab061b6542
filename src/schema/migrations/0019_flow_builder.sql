-- What a producer writes of flows: references between jobs, groups that grow, flows that begin in the middle of an older one.
--
-- Lock: ACCESS EXCLUSIVE on stint.flow and stint.flow_node, for moments: each column has a constant default.
-- breaking: no

-- `references`: the input names outputs of other jobs, which the worker puts in.
create or replace function stint.is_job_options(options jsonb) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(options) <> 'object'
     or options - array['timeoutMs', 'crashLimit', 'fireAt', 'cost', 'ordered', 'references'] <> '{}' then
    return false;
  elsif options ? 'timeoutMs' and jsonb_typeof(options -> 'timeoutMs') <> 'number' then
    return false;
  elsif options ? 'crashLimit' and jsonb_typeof(options -> 'crashLimit') <> 'number' then
    return false;
  elsif options ? 'fireAt' and jsonb_typeof(options -> 'fireAt') <> 'string' then
    return false;
  end if;
  return coalesce((options ->> 'timeoutMs')::numeric between 1 and 315576000000, true)      -- ten years
     and coalesce(options ->> 'crashLimit' ~ '^([1-9][0-9]?|100)$', true)
     and coalesce(octet_length(options ->> 'fireAt') <= 24 and options ->> 'fireAt' ~ '^[0-9T:.-]*Z$', true)
     and coalesce(options ->> 'cost' ~ '^[1-9][0-9]{0,8}$' and jsonb_typeof(options -> 'cost') = 'number', true)
     and coalesce(options ->> 'ordered' in ('hold', 'pass'), not options ? 'ordered')
     and coalesce(options -> 'references' = 'true', not options ? 'references');
end
$$;

alter table stint.flow
  add column rerun_of uuid;                                 -- the flow whose later part it runs again

-- A node that takes more jobs counts as one job more than it has, until it is closed. So it cannot end before.
alter table stint.flow_node
  add column is_open boolean not null default false,
  add column needed smallint not null default 0;           -- `needs` when it was stored

-- A part of stint.enqueue_flows() and stint.add_to_flow(): stores the jobs of the flows of :given that are among :stored. A node
-- may have `node`, its index where that is not its place in the list, and `placeFrom`, the place of its first job.
--
-- The jobs of a node that needs edges wait with run_at in ten years: no infinity in arithmetic.
create function stint.store_flow_jobs(given jsonb, stored uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  insert into stint.job (
    id, state, queue, kind, key, priority, run_at, max_attempts, version,
    correlation_id, traceparent, tracestate, parent_id, flow_id, node, member, deadline_at, search, options, waits,
    input, input_blob)
  select job.id,
         case when n.needs > 0 then 'waiting' when due.at > stint.now() then 'scheduled' else 'ready' end::stint.job_state,
         g.queue, g.kind, g.key, g.priority,
         case when n.needs > 0 then stint.now() + interval '3652.5 days' else due.at end,
         g."maxAttempts", g.version, g."correlationId", g.traceparent, g.tracestate, g."parentId",
         f.id, coalesce(n.node, n.place - 1), job.place + coalesce(n."placeFrom", 0),
         coalesce(g."deadlineAt", case when n.needs <= 0 then due.at + g."deadlineMs" * interval '1 millisecond' end),
         g.tokens, g.options,
         case when n.needs > 0 then jsonb_strip_nulls(jsonb_build_object(
                'node', true, 'delayMs', g."delayMs", 'deadlineMs', case when g."deadlineAt" is null then g."deadlineMs" end)) end,
         case when g."inputBlob" is null then job.input end, g."inputBlob"
    from jsonb_to_recordset(given) as f (id uuid, nodes jsonb)
   cross join lateral rows from (
           jsonb_to_recordset(f.nodes) as (needs smallint, node smallint, "placeFrom" integer, groups jsonb))
         with ordinality as n (needs, node, "placeFrom", groups, place)
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
end
$$;

-- Stores flows with their nodes and jobs, all of them or none. :flows is a JSON list:
--   { id, name, uniqueKey?, parentId?, nodes: [{ name, needs, chances, skips, isOpen?, onSucceeded, onEnded, onDead, groups }] }
-- An edge is the index of a node in the list. A group has the members of one in jobs/enqueue.sql, and `places`: the place of
-- each job in its node, or null where no job reads its result. A group with `inputBlob` has one job.
--
-- Answers for each flow: stored, now or by an earlier call with the same id; or kept, with the id of the open flow that has
-- its unique key.
--
-- Refused with SQLSTATE ST007 while a worker lives that does not know flows: it would end a job of a flow and tell nobody.
create or replace function stint.enqueue_flows(flows text)
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
  if exists (select
               from stint.worker as w
              where w.lost_at is null
                and w.lease_until >= stint.now()
                and not w.about ? 'flows') then
    raise exception 'stint.enqueue_flows: a worker that lives does not know flows'
      using errcode = 'ST007', hint = 'Upgrade all workers first.';
  end if;
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

  insert into stint.flow_node (flow_id, node, name, needs, chances, skips, total, remaining, is_open, needed,
                               on_succeeded, on_ended, on_dead)
  select f.id, n.place - 1, n.name, n.needs, n.chances, coalesce(n.skips, false), size.jobs, size.jobs,
         coalesce(n."isOpen", false), n.needs, n."onSucceeded", n."onEnded", n."onDead"
    from jsonb_to_recordset(given) as f (id uuid, nodes jsonb)
   cross join lateral rows from (
           jsonb_to_recordset(f.nodes) as (
             name text, needs smallint, chances smallint, skips boolean, "isOpen" boolean, "onSucceeded" smallint[],
             "onEnded" smallint[], "onDead" smallint[], groups jsonb))
         with ordinality as n (name, needs, chances, skips, "isOpen", "onSucceeded", "onEnded", "onDead", groups, place)
   cross join lateral (
           select coalesce(sum(jsonb_array_length(g -> 'ids')), 0)::integer
                  + case when n."isOpen" then 1 else 0 end as jobs
             from jsonb_array_elements(n.groups) as g) as size
   where f.id = any(stored);
  -- Nothing would ever end a node without a job.
  select n.name from stint.flow_node as n where n.flow_id = any(stored) and n.total = 0 limit 1 into bad;
  if bad is not null then
    perform stint.refuse('groups', 'to have a job', bad);
  end if;

  perform stint.store_flow_jobs(given, stored);

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

-- Adds jobs to a node that takes more. :groups are those of one node in enqueue_flows(). Answers added, now or by an earlier
-- call with the same ids; closed, if the node takes no more; or not-found.
create function stint.add_to_flow(flow uuid, node_name text, groups text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  given   jsonb := groups::jsonb;
  first   uuid  := (given -> 0 -> 'ids' ->> 0)::uuid;
  grown   stint.flow_node;
  size    integer;
begin
  perform from stint.flow as f where f.id = flow for no key update;
  if not found then
    return 'not-found';
  end if;
  if exists (select from stint.job as j where j.id = first) or stint.has_ended(first) then
    return 'added';
  end if;
  select n.* from stint.flow_node as n where n.flow_id = flow and n.name = node_name and n.is_open into grown;
  if grown.flow_id is null then
    return 'closed';
  end if;
  select coalesce(sum(jsonb_array_length(g -> 'ids')), 0)::integer from jsonb_array_elements(given) as g into size;
  perform stint.store_flow_jobs(
    jsonb_build_array(jsonb_build_object('id', flow, 'nodes', jsonb_build_array(jsonb_build_object(
      'needs', 0, 'node', grown.node, 'placeFrom', grown.total - 1, 'groups', given)))),
    array[flow]);
  update stint.flow_node as n
     set total     = n.total + size,
         remaining = n.remaining + size
   where n.flow_id = flow
     and n.node = grown.node;
  return 'added';
end
$$;

-- Closes the nodes of a flow that take more jobs, and counts: what waits for them may start. Answers closed or not-found, and
-- hints for workers as count_endings() does.
create function stint.close_flow(flow uuid) returns table (type text, queue text, priority smallint, key text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform from stint.flow as f where f.id = flow for no key update;
  if not found then
    return query select 'not-found', null::text, null::smallint, null::text;
    return;
  end if;
  with closed as (
    update stint.flow_node as n
       set is_open   = false,
           total     = n.total - 1,
           remaining = n.remaining - 1
     where n.flow_id = flow
       and n.is_open
    returning n.flow_id, n.node
  )
  insert into stint.flow_ending (flow_id, node)
  select c.flow_id, c.node from closed as c;
  return query select 'closed', null::text, null::smallint, null::text;
  return query select c.type, c.queue, c.priority, c.key from stint.count_endings(array[flow]) as c where c.type = 'ready';
end
$$;

-- Stores a new flow that runs a node of an older flow again, and all nodes behind it: the same kinds, inputs and options. The
-- other nodes are copied as they are, complete, with their outputs. The older flow is not touched.
--
-- Answers stored, now or by an earlier call with the same id; or why not: not-found, no-node; not-ready, if a node that it
-- waits for has not ended as it needs; no-jobs, if history has dropped jobs of the nodes to run.
create function stint.rerun_flow(older uuid, from_node text, newer uuid) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  start smallint;
  again smallint[];
begin
  if exists (select from stint.flow as f where f.id = newer) then
    return 'stored';
  end if;
  perform from stint.flow as f where f.id = older;
  if not found then
    return 'not-found';
  end if;
  select n.node from stint.flow_node as n where n.flow_id = older and n.name = from_node into start;
  if start is null then
    return 'no-node';
  end if;
  with recursive edge as (
    select n.node as source, unnest(n.on_succeeded || n.on_ended || n.on_dead) as target
      from stint.flow_node as n
     where n.flow_id = older
  ), behind (node) as (
    select start
     union
    select e.target from behind as b join edge as e on e.source = b.node
  )
  select array_agg(b.node) from behind as b into again;

  insert into stint.flow (id, name, open_nodes, rerun_of)
  select newer, f.name, cardinality(again), older from stint.flow as f where f.id = older;

  insert into stint.flow_node (flow_id, node, name, needs, chances, skips, total, remaining, succeeded, dead, cancelled, needed,
                               is_decided, has_ended, has_died, is_complete, on_succeeded, on_ended, on_dead)
  select newer, n.node, n.name,
         case when redo.is_meant then n.needed - fired.edges else 0 end,
         case when redo.is_meant then fired.later else 0 end,
         n.skips,
         n.total - n.is_open::integer, case when redo.is_meant then n.total - n.is_open::integer else 0 end,
         case when redo.is_meant then 0 else n.succeeded end, case when redo.is_meant then 0 else n.dead end,
         case when redo.is_meant then 0 else n.cancelled end, n.needed,
         not redo.is_meant, not redo.is_meant, not redo.is_meant and n.dead > 0, not redo.is_meant,
         n.on_succeeded, n.on_ended, n.on_dead
    from stint.flow_node as n
   cross join lateral (select n.node = any(again) as is_meant) as redo
   cross join lateral (
           select count(*) filter (where s.node <> all(again) and s.remaining <= 0 and case e.condition
                                           when 'succeeded' then s.dead <= 0 and s.cancelled <= 0
                                           when 'dead' then s.dead > 0
                                           else true end)::smallint as edges,
                  count(*) filter (where s.node = any(again))::smallint as later
             from stint.flow_node as s
            cross join lateral (
                    select 'succeeded' as condition, unnest(s.on_succeeded) as target
                     union all select 'ended', unnest(s.on_ended)
                     union all select 'dead', unnest(s.on_dead)) as e
            where s.flow_id = older
              and e.target = n.node) as fired
   where n.flow_id = older;
  if exists (select from stint.flow_node as n where n.flow_id = newer and n.node = start and n.needs > n.chances) then
    delete from stint.flow_node as n where n.flow_id = newer;
    delete from stint.flow as f where f.id = newer;
    return 'not-ready';
  end if;

  insert into stint.job (
    id, state, queue, kind, key, priority, run_at, max_attempts, version,
    correlation_id, traceparent, tracestate, flow_id, node, member, search, options, waits, cancel_at, cancel_reason,
    input, input_blob)
  select stint.uuid_v7(), case when n.needs between 1 and n.chances then 'waiting' else 'ready' end::stint.job_state,
         old.queue, old.kind, old.key, old.priority,
         case when n.needs between 1 and n.chances then stint.now() + interval '3652.5 days' else stint.now() end,
         old.max_attempts, old.version, old.correlation_id, old.traceparent, old.tracestate,
         newer, n.node, old.member, old.search, old.options,
         case when n.needs between 1 and n.chances then '{"node": true}'::jsonb end,
         -- What it needs did not happen in the older flow: a worker ends it, and what is behind it hears of that.
         case when n.needs > n.chances then stint.now() end,
         case when n.needs > n.chances then 'skipped: a job that it needs did not succeed' end, old.input, old.input_blob
    from stint.flow_node as n
   cross join lateral (
           select j.id, j.queue, j.kind, j.key, j.priority, j.max_attempts, j.version, j.correlation_id, j.traceparent, j.tracestate,
                  j.member, j.search, j.options, j.input, j.input_blob
             from stint.job as j
            where j.flow_id = older and j.node = n.node
            union all
           select j.id, j.queue, j.kind, j.key, j.priority, j.max_attempts, j.version, j.correlation_id, j.traceparent, j.tracestate,
                  j.member, j.search, j.options, j.input, j.input_blob
             from stint.finished as j
            where j.flow_id = older and j.node = n.node and j.flow_id is not null
            union all
           select j.id, j.queue, j.kind, j.key, j.priority, j.max_attempts, j.version, j.correlation_id, j.traceparent, j.tracestate,
                  j.member, j.search, j.options, j.input, j.input_blob
             from stint.dead as j
            where j.flow_id = older and j.node = n.node and j.flow_id is not null and j.replaced_by is null) as old
   where n.flow_id = newer
     and n.node = any(again)
   order by n.node, old.member, old.id;
  if exists (select
               from stint.flow_node as n
              where n.flow_id = newer
                and n.node = any(again)
                and n.total <> (select count(*) from stint.job as j where j.flow_id = newer and j.node = n.node)) then
    delete from stint.job as j where j.flow_id = newer;
    delete from stint.flow_node as n where n.flow_id = newer;
    delete from stint.flow as f where f.id = newer;
    return 'no-jobs';
  end if;
  -- The input in the blob store belongs to the newest job that has it.
  update stint.blob as b
     set job_id = j.id
    from stint.job as j
   where j.flow_id = newer
     and j.input_blob = b.key;

  insert into stint.flow_output (flow_id, node, member, job_id, state, result, error)
  select newer, o.node, o.member, o.job_id, o.state, o.result, o.error
    from stint.flow_output as o
   where o.flow_id = older
     and o.node <> all(again);
  return 'stored';
end
$$;
