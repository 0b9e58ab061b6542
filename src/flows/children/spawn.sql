-- Store children of a running job with the record of the call that made them, where the job's lease still holds: all or none.
--
-- The key of the record keeps a repeat out: it is inserted by one statement, and the children by the same. Returns a row where
-- the lease holds; nothing was stored if the children would be too deep, or if an earlier try, whose reply was lost, has stored
-- all. :jobs is the number of all children, of which :groups may be a part (spawn-more.sql stores the others).
with fence as materialized (
  select id,
         coalesce((select flow.depth from stint.flow where flow.id = job.flow_id), 0) + 1 as depth
    from stint.job
   where id = :id::uuid
     and lease_id = :lease::uuid
     for no key update
), parent as (
  insert into stint.step (job_id, name, n, seq, type, state, epoch, beside, started_at, ended_at, result)
  select id, :name::text, :n::integer, :seq::integer, 'spawn', :state::text, :epoch::integer, :beside::boolean,
         stint.now() - :ms::float8 * interval '1 millisecond', case when :state::text <> 'open' then stint.now() end,
         :result::text::jsonb
    from fence
   where depth <= :mostLevels::integer
      on conflict do nothing
  returning job_id as id
), flow as (
  insert into stint.flow (id, type, name, parent_id, open_nodes, depth)
  select :flow::uuid, 'children', :kind::text, id, 1, depth
    from fence
   where id = any(array(select id from parent))
), node as (
  -- Its deaths are final: the set is complete when all have ended.
  insert into stint.flow_node (flow_id, node, name, skips, total, remaining)
  select :flow::uuid, 0, :kind::text, true, :jobs::integer, :jobs::integer
    from parent
),
-- include: flows/children
select depth, exists (select from parent) as "isNew" from fence
