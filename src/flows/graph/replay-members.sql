-- Make the dead jobs of a flow live again, and those of the flows that these had made, as jobs/dead/replay.sql does for one.
-- The deepest are the first of the 10,000 that one call takes: a parent that died of its children comes after them. One by one (offset 0): a join could be planned as a scan of all flows.
with recursive found (id, depth) as (
  select id, 0
    from stint.dead
   where flow_id = :id::uuid
     and discarded_at is null
     and replaced_by is null
  union all
  select dead.id, found.depth + 1
    from found
   cross join lateral (select id from stint.flow where parent_id = found.id offset 0) as made
   cross join lateral (
           select id
             from stint.dead
            where flow_id = made.id
              and discarded_at is null
              and replaced_by is null
           offset 0) as dead
   where found.depth < 20
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
