-- How many of these jobs are in which state, and how many jobs are ready at all.
select state::text as state,
       count(*)::integer as jobs
  from stint.jobs
 where id = any(:ids::uuid[])
 group by state
union all
select 'left',
       count(*)::integer
  from stint.job
 where state = 'ready'
   and queue = any(:queues::text[])
