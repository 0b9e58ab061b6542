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
), page as (
  select job.id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
         created_at, run_at, started_at, null::timestamptz as finished_at, deadline_at, worker_id,
         correlation_id, traceparent, tracestate, parent_id, flow_id, search, null::text as reason,
         attempts_before, replaces, null::uuid as replaced_by, null::timestamptz as discarded_at, suspect, cancel_at
    from seen
   cross join lateral (select * from stint.job where job.id = seen.id offset 0) as job
   where (select count(*) from seen) < :most::integer
     and seen.id <= :upTo::uuid
     and seen.id >= :from::uuid
), matching as (
  select *
    from page
   where (:states::text[] is null or state::text = any(:states::text[]))
     and (:queues::text[] is null or queue = any(:queues::text[]))
     and (:kinds::text[] is null or kind like any(:kinds::text[]))
     and (:keys::text[] is null or key = any(:keys::text[]))
     and (:workers::uuid[] is null or worker_id = any(:workers::uuid[]))
     and (:correlations::text[] is null or coalesce(correlation_id, id::text) = any(:correlations::text[]))
     and (:reasons::text[] is null or reason = any(:reasons::text[]))
     and (:priorities::integer[] is null or priority = any(:priorities::integer[]))
     and (:madeBefore::timestamptz is null or created_at < :madeBefore::timestamptz)
     and (:madeAfter::timestamptz is null or created_at > :madeAfter::timestamptz)
     and (:asOf::timestamptz is null
          or coalesce(finished_at, created_at) <= :asOf::timestamptz
          or coalesce(finished_at, created_at) > stint.now() + interval '1 day')
     and (:discarded::boolean is null or (discarded_at is not null) = :discarded::boolean)
     and (:replaced::boolean is null or (replaced_by is not null) = :replaced::boolean)
     and (:words::jsonb is null
          or search is not null
          and not exists (select
                           from jsonb_array_elements(:words::jsonb) as wanted (word)
                          where not search && array(select jsonb_array_elements_text(word))))
   order by id desc
   limit :limit::integer
)
select (select count(*)::integer from seen) as looked,
       id, state, left(queue, 2001) as queue, left(kind, 2001) as kind, left(key, 2001) as key,
       priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, finished_at, deadline_at, worker_id, left(correlation_id, 2001) as correlation_id,
       left(traceparent, 2001) as traceparent, left(tracestate, 2001) as tracestate, parent_id, flow_id,
       array(select left(word, 401) from unnest(search) as word limit 10) as search, left(reason, 2001) as reason,
       attempts_before, replaces, replaced_by, discarded_at, suspect, cancel_at
  from (select) as always
  left join matching on true
 order by matching.id desc
