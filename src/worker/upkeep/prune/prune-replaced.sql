-- Remove dead letters that were edited into another job, after the time for which their queue keeps finished jobs.
with gone as (
  delete from stint.dead
   where id = any(array(
           select dead.id
             from stint.dead
             left join stint.queue as setting
               on setting.name = dead.queue
            where dead.replaced_by is not null
              and stint.made_at(dead.replaced_by)
                  < stint.now() - least(greatest(coalesce(setting.keep_finished, stint.kept_by_default()), interval '5 minutes'), interval '1000 years')
            order by dead.replaced_by
           offset :skip::integer
            limit :limit::integer
              for update of dead skip locked))
  returning id
)
select count(*)::integer as removed from gone
