-- Wake jobs that wait for other jobs, where none of those is live any more. A job may have woken for another reason: then only
-- its row here is removed.
with over as materialized (
  select ctid, job_id
    from stint.job_watch
   where not exists (select from stint.job where job.id = job_watch.target_id)
   limit 500
), gone as (
  delete from stint.job_watch
   where ctid = any(array(select ctid from over))
  returning job_id
), woken as (
  update stint.job
     set state  = 'ready',
         run_at = stint.now()
   where id = any(array(select job_id from over))
     and state::text = 'waiting'
     and waits ? 'jobs'
     and not exists (select
                       from stint.job_watch as other
                       join stint.job as target on target.id = other.target_id
                      where other.job_id = job.id)
  returning queue::text, priority, key
)
select (select count(*)::integer from gone) as looked, woken.queue, woken.priority, woken.key
  from (select) as always
  left join (select distinct queue, priority, key from woken) as woken on true
