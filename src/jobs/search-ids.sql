-- Jobs by their ids, wherever they are, where they match.
select id, state, left(queue, 2001) as queue, left(kind, 2001) as kind, left(key, 2001) as key,
       priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, finished_at, deadline_at, worker_id, left(correlation_id, 2001) as correlation_id,
       left(traceparent, 2001) as traceparent, left(tracestate, 2001) as tracestate, parent_id, flow_id,
       array(select left(word, 401) from unnest(search) as word limit 10) as search, left(reason, 2001) as reason,
       attempts_before, replaces, replaced_by, discarded_at, suspect, cancel_at
  from stint.jobs
 where id = any(:ids::uuid[])
   and id <= :upTo::uuid
   and id >= :from::uuid
   and (:states::text[] is null or state::text = any(:states::text[]))
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
