-- Where work is, for the queues of one worker: the first job it could claim at each priority, whether jobs with keys
-- wait, when the next one falls due, the rules that hold, and what a person asked of the worker. It takes nothing and locks nothing; a claim then starts at
-- these positions.
--
-- The priorities of a queue come from a loose scan of job_ready. Enqueue allows -100 to 100; a row that was written by
-- hand may have any smallint, so only the 32 highest of those above 100 are read, and at most 300 in all.
-- The kinds are by queue: those that are paused are left out, so that no claim begins at a job that it may not take.
-- `age` is how long the first one has waited. Times are bounded before they are subtracted: a run_at may be infinite,
-- which a server before 17 cannot subtract.
-- `lateral … limit 1`, not `exists`: that is a join to the planner, which hashed every job with a key to answer it.
with recursive served as (
  select queue, kinds
    from unnest(:queues::text[], :kinds::jsonb[]) as served (queue, kinds)
), levels as (
  select served.queue, served.kinds,
         (select job.priority
            from stint.job
           where job.queue = served.queue
             and job.key is null
             and job.state = 'ready'
           order by job.priority desc
           limit 1) as priority,
         1 as seen
    from served
  union all
  select levels.queue, levels.kinds,
         (select job.priority
            from stint.job
           where job.queue = levels.queue
             and job.key is null
             and job.state = 'ready'
             and job.priority < case when levels.seen < 32 then levels.priority
                                     else least(levels.priority, 101::smallint) end
           order by job.priority desc
           limit 1),
         levels.seen + 1
    from levels
   where levels.priority is not null
     and levels.seen < 300
)
select 'ready' as type, levels.queue, levels.priority, (head.run_at at time zone 'utc')::text as "runAt", head.id,
       extract(epoch from stint.now() - greatest(least(head.run_at, stint.now()), stint.now() - interval '100 years'))::float8
         * 1000 as ms,
       null::jsonb as rules
  from levels
 cross join lateral (
         select job.run_at, job.id
           from stint.job
          where job.queue = levels.queue
            and job.key is null
            and job.state = 'ready'
            and job.priority = levels.priority
            and job.version <= (levels.kinds ->> job.kind)::smallint
          order by job.run_at, job.id
          limit 1) as head
 where levels.priority is not null
union all
select 'keyed', served.queue, null, null, null, null, null
  from served
 cross join lateral (
         select
           from stint.job
          where job.queue = served.queue
            and job.key is not null
            and job.state = 'ready'
          limit 1) as waiting
union all
select 'due', served.queue, null, null, null,
       extract(epoch from greatest(least(next.run_at, stint.now() + interval '1 day'), stint.now()) - stint.now())::float8 * 1000,
       null
  from served
 cross join lateral (
         (select job.run_at
            from stint.job
           where job.queue = served.queue
             and job.state in ('scheduled', 'retrying')
           order by job.run_at
           limit 1)
         union all
         (select job.run_at
            from stint.job
           where job.queue = served.queue
             and job.state = 'waiting'
           order by job.run_at
           limit 1)) as next
union all
select 'wanted', null, null, null, null, null, asked.wanted
  from stint.wanted_of(:worker::uuid) as asked (wanted)
 where asked.wanted is not null
union all
select 'rules', rules_of.queue, null, null, null, null, rules_of.rules
  from stint.queue_rules(:queues::text[]) as rules_of
 where rules_of.rules <> '{}'
