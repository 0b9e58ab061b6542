-- How many dead letters each queue has, without those in the trash and those edited into another job. :rows are looked at
-- in all, shared out among the queues; a queue that has as many as its share has more.
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
)
select named.queue, share.rows > dead.seen as exact, dead.jobs as count
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
