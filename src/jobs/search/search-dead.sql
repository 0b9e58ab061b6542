-- Dead letters that match, newest first, by the index of one token: :by names it, and :values are what it looks for. That
-- chooses one branch of `found`; the others cost nothing, for their condition does not depend on a row. The rest is looked
-- for among the :window newest that the index gives.
--
-- `queue = :value` is written as a range that only the index by queue has in order: with an equality the planner may read
-- all dead letters by id and pick. `offset 0` keeps it from looking at them all before it joins. There is always a row:
-- without a dead letter in it when none matched. `window_end` is where to look on.
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
         attempts_before, replaces, replaced_by, discarded_at, false as suspect, null::timestamptz as cancel_at
    from seen
   cross join lateral (select * from stint.dead where dead.id = seen.id offset 0) as dead
), matching as (
  select *
    from page
   where id >= :from::uuid
     and -- include: jobs/matches
   order by id desc
   limit :limit::integer
)
select (select count(*)::integer from seen) as looked,
       (select id from seen order by id desc offset :window::integer - 1 limit 1) as window_end,
       -- include: jobs/shown
  from (select) as always
  left join matching on true
 order by matching.id desc
