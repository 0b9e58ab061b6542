-- Children: a set of jobs that a handler makes and waits for. It is a flow of the type 'children' with one node.
--
-- Lock: ACCESS EXCLUSIVE on stint.flow for a moment; SHARE on stint.flow_output for its new index.
-- breaking: no

alter table stint.flow
  -- Sets of children above its jobs, counted when the set is made: one row is read then. To follow parent_id instead would read
  -- a row for each level, in history too, where a day of them may be gone.
  add column depth   smallint not null default 0,
  -- Since when its parent knows how jobs of it ended. From then on a replay of a dead one leaves its output as it is: the parent
  -- is called again from its start, and must see the same.
  add column read_at timestamptz;

create index flow_output_failed on stint.flow_output (flow_id, node, member) where state <> 'succeeded';

-- How the children of a running job are, where its lease still holds: no row if it does not.
--
-- is_over: all have ended, or, if the parent asks for it, one has failed. failed: the first that is dead or was cancelled, as
-- { id, state, error }; its id is null if its row was deleted by hand. open_flows: those with jobs that have not ended. What a
-- parent was told stays true (read_at).
--
-- The flows are locked and their endings counted first, in the order of locks of count_endings(); all that follows is read in a
-- newer snapshot. The settings are for the planner, as there.
create function stint.look_at_children(parent uuid, lease uuid, flows uuid[], at_failure boolean, cancels boolean)
returns table (is_over boolean, open_flows uuid[], failed jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  perform from stint.job as j where j.id = parent and j.lease_id = look_at_children.lease for no key update;
  if not found then
    return;
  end if;
  perform from stint.flow as f where f.id = any(flows) order by f.id for no key update;
  perform from stint.count_endings(flows);
  if at_failure then
    select jsonb_build_object('id', o.job_id, 'state', o.state, 'error', jsonb_build_object(
             'name', left(o.error ->> 'name', 200), 'message', left(o.error ->> 'message', 2000), 'code', left(o.error ->> 'code', 200)))
      from unnest(flows) with ordinality as asked (id, place)
     cross join lateral (
             select output.job_id, output.state, output.error
               from stint.flow_output as output
              where output.flow_id = asked.id
                and output.state <> 'succeeded'
              order by output.node, output.member
              limit 1) as o
     order by asked.place
     limit 1
      into failed;
    if failed is null and exists (select from stint.flow_node as n where n.flow_id = any(flows) and n.dead + n.cancelled > 0) then
      failed := '{"id": null, "state": "cancelled", "error": null}';
    end if;
  end if;
  open_flows := array(select n.flow_id from stint.flow_node as n where n.flow_id = any(flows) and n.remaining > 0 order by n.flow_id);
  is_over := failed is not null or cardinality(open_flows) = 0;
  if is_over then
    update stint.flow as f
       set read_at = coalesce(f.read_at, stint.now())
     where f.id = any(flows);
  end if;
  if failed is not null and cancels then
    update stint.flow as f
       set cancel_at     = stint.now(),
           cancel_reason = 'another child of the set failed'
     where f.id = any(flows)
       and f.ended_at is null
       and f.cancel_at is null;
  end if;
  return next;
end
$$;
