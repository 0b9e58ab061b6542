-- The dead jobs of a flow, and of the flows that these made, the deepest first: a parent that died of its children comes after
-- them.
with recursive found (id, epoch, depth) as (
  select id, epoch, 0
    from stint.dead
   where flow_id = :id::uuid
     and discarded_at is null
     and replaced_by is null
  union all
  select dead.id, dead.epoch, found.depth + 1
    from found
    join stint.flow on flow.parent_id = found.id
    join stint.dead on dead.flow_id = flow.id
   where found.depth < 20
     and dead.discarded_at is null
     and dead.replaced_by is null
)
select id, epoch
  from found
 order by depth desc, id
 limit 10000
