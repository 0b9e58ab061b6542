-- Whether a job matches a search. `:x is null or` is harmless: the index has been chosen before this is asked.
(:states::text[] is null or state::text = any(:states::text[]))
and (:queues::text[] is null or queue = any(:queues::text[]))
and (:kinds::text[] is null or kind like any(:kinds::text[]))
and (:keys::text[] is null or key = any(:keys::text[]))
and (:workers::uuid[] is null or worker_id = any(:workers::uuid[]))
and (:correlations::text[] is null or coalesce(correlation_id, id::text) = any(:correlations::text[]))
and (:reasons::text[] is null or reason = any(:reasons::text[]))
and (:priorities::integer[] is null or priority = any(:priorities::integer[]))
and (:flows::uuid[] is null or flow_id = any(:flows::uuid[]))
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
