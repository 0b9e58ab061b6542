-- Live jobs in some states, each state by its own index, where there are fewer than :most of them: running or retrying
-- jobs are few and are found behind millions that are ready. Where there are more it says so in `looked`, gives nothing,
-- and search-window.sql finds enough of them. In the order of each index, so that no other is chosen; and the planner is not
-- told how many are wanted: until it has statistics it believes that there are fewer, reads them all and sorts them.
-- There is always a row: without a job in it when none matched.
with seen as materialized (
  (select id
     from stint.job
    where 'running' = any(:states::text[])
      and state = 'running'
    order by worker_id
    limit (select :most::integer))
  union all
  (select id
     from stint.job
    where 'ready' = any(:states::text[])
      and state = 'ready'
      and key is null
    order by queue, priority desc, run_at, id
    limit (select :most::integer))
  union all
  (select id
     from stint.job
    where 'ready' = any(:states::text[])
      and state = 'ready'
      and key is not null
    order by queue, key, priority desc, run_at, id
    limit (select :most::integer))
  union all
  (select id
     from stint.job
    where :states::text[] && '{scheduled,retrying}'
      and state in ('scheduled', 'retrying')
    order by queue, run_at
    limit (select :most::integer))
  union all
  (select id
     from stint.job
    where 'waiting' = any(:states::text[])
      and state = 'waiting'
    order by queue, run_at
    limit (select :most::integer))
), -- include: jobs/collected
