-- Remove dead letters that have been in the trash for a day. The condition is checked again under the lock, so one that
-- is restored meanwhile stays.
with gone as (
  delete from stint.dead
   where id = any(array(
           select id
             from stint.dead
            where discarded_at < stint.now() - interval '24 hours'
            order by discarded_at, id
           offset :skip::integer
            limit :limit::integer
              for update skip locked))
  returning id, flow_id, node
),
-- include: jobs/discarded-members
select count(*)::integer as removed from gone
