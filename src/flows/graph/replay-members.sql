-- Make the dead jobs of a flow live again, and those of the flows that these had made, as jobs/dead/replay.sql does for one.
-- The deepest are the first of the 10,000 that one call takes: a parent that died of its children comes after them.
with recursive found (id, depth) as (
  select id, 0
    from stint.dead
   where flow_id = :id::uuid
     and discarded_at is null
     and replaced_by is null
  union all
  select dead.id, found.depth + 1
    from found
    join stint.flow on flow.parent_id = found.id
    join stint.dead on dead.flow_id = flow.id
   where found.depth < 20
     and dead.discarded_at is null
     and dead.replaced_by is null
), back as (
  delete from stint.dead
   where id = any(array(
           select id
             from found
            order by depth desc, id
            limit 10000))
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
select id, created_at, stint.now(), 'ready', epoch, attempt, attempt + max_attempts - coalesce(attempts_before, 0), attempt, 0,
       priority, version, queue, kind, key, input, input_blob, unique_key, unique_until_start,
       correlation_id, traceparent, tracestate, parent_id, flow_id, node, member, search, options, replaces
  from back
returning id, queue::text, priority, key
