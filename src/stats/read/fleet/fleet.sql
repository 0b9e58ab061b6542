-- The live workers, and those that were lost within :lostWithinMs, with the number of jobs that each holds; and the
-- database's time, so that there is always a row.
--
-- A worker that ended in good order is not lost: it gave its lease back before that ran out, and no death was reported.
-- Running jobs are counted up to :mostRunning together, in the order of the index; a planner that is told how many that
-- is believes that there are fewer, reads them all and sorts them.
with running as (
  select worker_id, count(*)::integer as jobs
    from (select worker_id
            from stint.jobs
           where place = 'live' and state = 'running'
           order by worker_id
           limit (select :mostRunning::integer)) as seen
   group by worker_id
)
select clock.now as "asOf", worker.id, worker.started_at as "startedAt", worker.renewed_at as "renewedAt",
       worker.lease_until as "leaseUntil", worker.lost_at as "lostAt", worker.about, worker.rss_bytes::float8 as "rssBytes", worker.claims,
       worker.death, worker.wanted, coalesce(running.jobs, 0) as running,
       case when worker.lost_at is not null then 'lost'
            -- A heartbeat comes every third of a lease; two missing ones in a row are no coincidence.
            when extract(epoch from clock.now) > 0.25 * extract(epoch from worker.renewed_at)
                                                 + 0.75 * extract(epoch from worker.lease_until) then 'late'
            else 'active'
       end as status
  from (select stint.now() as now) as clock
  left join stint.worker
    on worker.lost_at is null
    or worker.lost_at > clock.now - :lostWithinMs::float8 * interval '1 millisecond'
       and (worker.death is not null or worker.lost_at > worker.lease_until)
  left join running
    on running.worker_id = worker.id
 order by worker.lost_at nulls first, worker.started_at, worker.id
 limit :limit::integer
