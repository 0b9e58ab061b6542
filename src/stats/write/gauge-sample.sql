-- About how many jobs there are of each sort, from some pages of the table: for groups that are too large to be counted.
-- Pages and not rows, so that it costs the same however large the table is; by its true size and not by statistics.
--
-- The pages are evenly spread, and stay the same while the table has the same size: so an unchanged queue gives an
-- unchanged number. (tablesample takes each page by chance: a hundred pages, give or take ten, made an error of 10 %.)
-- `offset 0` keeps the page's bounds inside the subselect, where the planner makes a TID range scan of them.
-- All rows of the sample are put together once, with their keys; the rest is done with those groups.
with size as materialized (
  select greatest(1, pg_relation_size('stint.job') / current_setting('block_size')::integer) as blocks
), scale as materialized (
  select least(blocks, :pages::integer)::float8 / blocks as share
    from size
), page as materialized (
  select floor((n + 0.5) * blocks / least(blocks, :pages::integer))::bigint as block
    from size
   cross join lateral generate_series(0, least(blocks, :pages::integer) - 1) as n
), seen as materialized (
  select queue, state, kind, priority, key, count(*) as jobs, min(run_at) as oldest
    from page
   cross join lateral (
           select queue, state, kind, priority, key, run_at
             from stint.job
            where ctid >= format('(%s,0)', page.block)::tid
              and ctid < format('(%s,0)', page.block + 1)::tid
           offset 0) as row
   group by queue, state, kind, priority, key
)
select queue, state::text as state, kind, priority, key is not null as "isKeyed", null as key,
       (sum(jobs) / share)::float8 as jobs, sum(jobs)::float8 as rows,
       case when state = 'ready' then (extract(epoch from min(oldest)) * 1000)::float8 end as oldest,
       (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::float8 as took
  from seen
 cross join scale
 group by queue, state, kind, priority, key is not null, share
union all
select queue, 'ready', null, null, true, key, jobs, null, null,
       (extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::float8
  from (select queue, key, (sum(jobs) / share)::float8 as jobs,
               row_number() over (partition by queue order by sum(jobs) desc, key) as place
          from seen
         cross join scale
         where state = 'ready'
           and key is not null
         group by queue, key, share) as ranked
 where place <= :topKeys::integer
