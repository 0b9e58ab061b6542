-- Remove dead letters that are older than their queue keeps them. Those in the trash and those edited into another job
-- have rules of their own. A retention that is out of the range of a timestamp must not stop the pruning of all.
with gone as (
  delete from stint.dead
   where id = any(array(
           select dead.id
             from stint.queue as setting
             join stint.dead
               on dead.queue = setting.name
              and dead.died_at < stint.now() - least(setting.keep_dead, interval '1000 years')
            where dead.discarded_at is null
              and dead.replaced_by is null
            order by dead.died_at, dead.id
           offset :skip::integer
            limit :limit::integer
              for update of dead skip locked))
  returning id, flow_id, node
),
-- include: jobs/discarded-members
select count(*)::integer as removed from gone
