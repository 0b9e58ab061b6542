-- Live jobs of some queues, as search-live.sql finds those of all: a quiet queue is found beside a busy one.
with seen as materialized (
  (select id
     from stint.job
    where 'running' = any(:states::text[])
      and state = 'running'
    order by worker_id
    limit (select :most::integer))
  union all
  (select found.id
     from unnest(:queues::text[]) as wanted (name)
    cross join lateral (
           select id
             from stint.job
            where 'ready' = any(:states::text[])
              and queue = wanted.name
              and state = 'ready'
              and key is null
            order by priority desc, run_at, id
            limit (select :most::integer)) as found)
  union all
  (select found.id
     from unnest(:queues::text[]) as wanted (name)
    cross join lateral (
           select id
             from stint.job
            where 'ready' = any(:states::text[])
              and queue = wanted.name
              and state = 'ready'
              and key is not null
            order by key, priority desc, run_at, id
            limit (select :most::integer)) as found)
  union all
  (select found.id
     from unnest(:queues::text[]) as wanted (name)
    cross join lateral (
           select id
             from stint.job
            where :states::text[] && '{scheduled,retrying}'
              and queue = wanted.name
              and state in ('scheduled', 'retrying')
            order by run_at
            limit (select :most::integer)) as found)
  union all
  (select found.id
     from unnest(:queues::text[]) as wanted (name)
    cross join lateral (
           select id
             from stint.job
            where 'waiting' = any(:states::text[])
              and queue = wanted.name
              and state = 'waiting'
            order by run_at
            limit (select :most::integer)) as found)
), -- include: jobs/collected
