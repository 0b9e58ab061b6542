-- Remove records of steps whose job is gone: a job that waits may be cancelled by a statement that does not know of them. A dead letter
-- keeps its own. A loose scan looks at 1,000 jobs; :after is the last job of the page before.
with recursive page (job_id, place) as (
  (select job_id, 1 from stint.step where job_id > :after::uuid order by job_id limit 1)
  union all
  select (select next.job_id from stint.step as next where next.job_id > page.job_id order by next.job_id limit 1), place + 1
    from page
   where job_id is not null
     and place < 1000
), gone as (
  delete from stint.step
   where job_id = any(array(
           select page.job_id
             from page
            where page.job_id is not null
              and not exists (select from stint.job where job.id = page.job_id)
              and not exists (select from stint.dead where dead.id = page.job_id)))
)
select job_id as "last" from page where place = 1000
