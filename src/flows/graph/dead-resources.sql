-- The queues, kinds and keys of the dead jobs that graph/replay-members.sql would replay, at most 1,001 of them.
with recursive found (id, queue, kind, key, depth) as (
  select id, queue, kind, key, 0
    from stint.dead
   where flow_id = :id::uuid
     and discarded_at is null
     and replaced_by is null
  union all
  select dead.id, dead.queue, dead.kind, dead.key, found.depth + 1
    from found
   cross join lateral (select id from stint.flow where parent_id = found.id offset 0) as made
   cross join lateral (
           select id, queue, kind, key
             from stint.dead
            where flow_id = made.id
              and discarded_at is null
              and replaced_by is null
           offset 0) as dead
   where found.depth < 20
)
select queue, kind, key
  from found
 group by queue, kind, key
 limit 1001
