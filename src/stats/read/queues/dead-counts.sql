-- How many dead letters each queue has, without those in the trash and those edited into another job. The statement reads
-- about :rows in all: each queue has an equal share, and the large queues get the rows that small ones leave. A queue that
-- has as many as its share may have more.
--
-- A loose scan finds the queues: each step asks an index for the next name. `order by` with `limit` leaves the planner
-- nothing to choose but that index.
with recursive named as (
  (select queue, 1 as step
     from stint.jobs
    where place = 'dead'
    order by queue
    limit 1)
  union all
  select (select jobs.queue
            from stint.jobs
           where place = 'dead' and jobs.queue > named.queue
           order by jobs.queue
           limit 1), step + 1
    from named
   where queue is not null and step < :queues::integer
), share as materialized (
  select greatest(100, :rows::integer / greatest(1, (select count(*) from named)))::integer as rows
), few as materialized (
  select named.queue, dead.jobs, dead.seen, dead.seen >= share.rows as is_cut
    from named
   cross join share
   cross join lateral (
           select (count(*) filter (where seen.discarded_at is null and seen.replaced_by is null))::integer as jobs,
                  count(*)::integer as seen
             from (select discarded_at, replaced_by
                     from stint.jobs
                    where place = 'dead' and jobs.queue = named.queue
                    order by id desc
                    limit (select share.rows from share)) as seen) as dead
   where named.queue is not null
), more as materialized (
  select ((:rows::integer - sum(seen)) / nullif(count(*) filter (where is_cut), 0))::integer as rows
    from few
)
select queue, jobs as count, not is_cut as "isExact"
  from few
 cross join more
 where not is_cut
    or more.rows <= 0
union all
select few.queue, dead.jobs, dead.seen < share.rows + more.rows
  from few
 cross join share
 cross join more
 cross join lateral (
         select (count(*) filter (where seen.discarded_at is null and seen.replaced_by is null))::integer as jobs,
                count(*)::integer as seen
           from (select discarded_at, replaced_by
                   from stint.jobs
                  where place = 'dead' and jobs.queue = few.queue
                  order by id desc
                  limit share.rows + more.rows) as seen) as dead
 where few.is_cut
   and more.rows > 0
