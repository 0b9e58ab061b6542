-- One page of the collected jobs that match, newest first; none where :most or more were collected. There is always a row.
page as (
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
   where -- include: jobs/matches
   order by id desc
   limit :limit::integer
)
select (select count(*)::integer from seen) as looked,
       -- include: jobs/shown
  from (select) as always
  left join matching on true
 order by matching.id desc
