-- One page of dead letters, newest first, by keyset. :by names the filter whose index is read: it chooses one branch of
-- `seen`, and the other branches cost nothing, because their condition does not depend on a row. The other filters are
-- applied to the :window rows that the index gives.
--
-- `queue = :queue` is written as a range that only the index by queue has in order: with an equality the planner may
-- read all dead letters by id and pick. `offset 0` keeps it from looking at them all before it joins.
-- There is always a row: without a dead letter in it when none matched. `window_end` is where to look on.
with seen as (
  (select id
     from stint.dead
    where :by::text = 'fingerprint'
      and (fingerprint, id) <= (:fingerprint::text, :upTo::uuid)
      and fingerprint >= :fingerprint::text
    order by fingerprint desc, id desc
    limit :window::integer)
  union all
  (select id
     from stint.dead
    where :by::text = 'key'
      and (key, id) <= (:key::text, :upTo::uuid)
      and key >= :key::text
    order by key desc, id desc
    limit :window::integer)
  union all
  (select id
     from stint.dead
    where :by::text = 'kind'
      and (kind, id) <= (:kind::text, :upTo::uuid)
      and kind >= :kind::text
    order by kind desc, id desc
    limit :window::integer)
  union all
  (select id
     from stint.dead
    where :by::text = 'queue'
      and (queue, id) <= (:queue::text, :upTo::uuid)
      and queue >= :queue::text
    order by queue desc, id desc
    limit :window::integer)
  union all
  (select id
     from stint.dead
    where :by::text = 'id'
      and id <= :upTo::uuid
    order by id desc
    limit :window::integer)
), page as (
  select dead.*
    from seen
   cross join lateral (select * from stint.dead where dead.id = seen.id offset 0) as dead
   where (discarded_at is not null) = :discarded::boolean
     and (replaced_by is null or :replaced::boolean)
     and (:reason::text is null or reason = :reason::text)
     and (:fingerprint::text is null or fingerprint = :fingerprint::text)
     and (:key::text is null or key = :key::text)
     and (:kind::text is null or kind = :kind::text)
     and (:queue::text is null or queue = :queue::text)
   order by dead.id desc
   limit :limit::integer
)
select (select id from seen order by id desc offset :window::integer - 1 limit 1) as window_end,
       page.id, 'dead' as state, left(queue, 2001) as queue, left(kind, 2001) as kind, left(key, 2001) as key,
       priority, attempt, max_attempts, crashes, epoch, version,
       created_at, run_at, started_at, died_at as finished_at, deadline_at, worker_id,
       left(correlation_id, 2001) as correlation_id, left(traceparent, 2001) as traceparent,
       left(tracestate, 2001) as tracestate, parent_id, flow_id,
       array(select left(word, 401) from unnest(search) as word limit 10) as search, left(reason, 2001) as reason,
       attempts_before, replaces, replaced_by, discarded_at, false as suspect, null as cancel_at, fingerprint,
       left(error ->> 'name', 1000) as error_name, left(error ->> 'message', 1000) as error_message
  from (select) as always
  left join page on true
 order by page.id desc
