-- Dead letters that match, newest first, by the index of one token: :by names it, and :values are what it looks for. That
-- chooses one branch of `found`; the others cost nothing, for their condition does not depend on a row. The rest is looked
-- for among the :window newest that the index gives.
--
-- Written as ranges that only the wanted index has in order, as in list-dead.sql. There is always a row: without a dead
-- letter in it when none matched. `window_end` is where to look on.
with found as (
  (select found.id
     from unnest(:values::text[]) as wanted (value)
    cross join lateral (
           select id
             from stint.dead
            where :by::text = 'fingerprint'
              and (fingerprint, id) <= (wanted.value, :upTo::uuid)
              and fingerprint >= wanted.value
            order by fingerprint desc, id desc
            limit :window::integer) as found)
  union all
  (select found.id
     from unnest(:values::text[]) as wanted (value)
    cross join lateral (
           select id
             from stint.dead
            where :by::text = 'key'
              and (key, id) <= (wanted.value, :upTo::uuid)
              and key >= wanted.value
            order by key desc, id desc
            limit :window::integer) as found)
  union all
  (select found.id
     from unnest(:values::text[]) as wanted (value)
    cross join lateral (
           select id
             from stint.dead
            where :by::text = 'kind'
              and (kind, id) <= (wanted.value, :upTo::uuid)
              and kind >= wanted.value
            order by kind desc, id desc
            limit :window::integer) as found)
  union all
  (select found.id
     from unnest(:values::text[]) as wanted (value)
    cross join lateral (
           select id
             from stint.dead
            where :by::text = 'queue'
              and (queue, id) <= (wanted.value, :upTo::uuid)
              and queue >= wanted.value
            order by queue desc, id desc
            limit :window::integer) as found)
  union all
  (select id
     from stint.dead
    where :by::text = 'search'
      and search is not null
      and search && :values::text[]
      and id <= :upTo::uuid
    order by id desc
    limit :window::integer)
), seen as materialized (
  select id
    from found
   order by id desc
   limit :window::integer
), page as (
  select dead.id, 'dead'::text as state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
         created_at, run_at, started_at, died_at as finished_at, deadline_at, worker_id,
         correlation_id, traceparent, tracestate, parent_id, flow_id, search, reason,
         attempts_before, replaces, replaced_by, discarded_at, false as suspect, null::timestamptz as cancel_at, fingerprint
    from seen
   cross join lateral (select * from stint.dead where dead.id = seen.id offset 0) as dead
), matching as (
  select *
    from page
   where id >= :from::uuid
     and (:errors::text[] is null or fingerprint like any(:errors::text[]))
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
)
select (select count(*)::integer from seen) as looked,
       (select id from seen order by id desc offset :window::integer - 1 limit 1) as window_end,
       id, state, left(queue, 2001) as queue, left(kind, 2001) as kind, left(key, 2001) as key,
       priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, finished_at, deadline_at, worker_id, left(correlation_id, 2001) as correlation_id,
       left(traceparent, 2001) as traceparent, left(tracestate, 2001) as tracestate, parent_id, flow_id,
       array(select left(word, 401) from unnest(search) as word limit 10) as search, left(reason, 2001) as reason,
       attempts_before, replaces, replaced_by, discarded_at, suspect, cancel_at, fingerprint
  from (select) as always
  left join matching on true
 order by matching.id desc
