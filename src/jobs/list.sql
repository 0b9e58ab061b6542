-- One page of jobs, newest first, by keyset: ids are UUIDv7, so their order is the order of making, and every table
-- has an index on them. A filter is looked for in a window of :window rows, no further: a rare queue among millions
-- must not become a scan of them all. list-end.sql says where the window ended. Only the places (live, finished, dead)
-- that can hold the wanted states are looked at: ready jobs are found behind a million newer finished ones.
--
-- `:x is null or` is harmless here: inside the window there is no index to choose any more. A text that is far longer than
-- any that Stint stores is cut, here and in the other lists: a page of kinds of a megabyte each could not be sent.
select id, state, left(queue, 2001) as queue, left(kind, 2001) as kind, left(key, 2001) as key,
       priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, finished_at, deadline_at, worker_id, left(correlation_id, 2001) as correlation_id,
       left(traceparent, 2001) as traceparent, left(tracestate, 2001) as tracestate, parent_id, flow_id,
       array(select left(word, 401) from unnest(search) as word limit 10) as search, left(reason, 2001) as reason,
       attempts_before, replaces, replaced_by, discarded_at, suspect, cancel_at
  from (select id, state, queue, kind, key, priority, attempt, max_attempts, crashes, epoch, version,
               created_at, run_at, started_at, finished_at, deadline_at, worker_id,
               correlation_id, traceparent, tracestate, parent_id, flow_id, search, reason,
               attempts_before, replaces, replaced_by, discarded_at, suspect, cancel_at
          from stint.jobs
         where id <= :upTo::uuid
           and place = any(:places::text[])
         order by id desc
         limit :window::integer) as seen
 where discarded_at is null
   and (:states::text[] is null or state::text = any(:states::text[]))
   and (:queue::text is null or queue = :queue::text)
   and (:kind::text is null or kind = :kind::text)
   and (:key::text is null or key = :key::text)
   and (:correlationId::text is null or correlation_id = :correlationId::text or id::text = :correlationId::text)
 order by id desc
 limit :limit::integer
