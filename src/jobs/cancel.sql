-- End a job that is not running: it moves to history as cancelled.
with gone as (
  delete from stint.job
   where id = :id::uuid
     and state <> 'running'
  returning *
), counted as (
  insert into stint.stat_settle (minute, queue, kind, cancelled)
  select date_trunc('minute', stint.now()), queue, kind, 1
    from gone
),
-- include: jobs/cancelled-members
insert into stint.finished (
  node, member,
  -- include: jobs/finished-columns
)
select node, member, :reason::text,
       -- include: jobs/cancelled
  from gone
returning id
