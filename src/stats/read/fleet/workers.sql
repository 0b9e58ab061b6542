-- The workers that are not known to be lost, oldest first, and the database's time, so that there is always a row.
select clock.now as as_of, worker.id, worker.started_at, worker.lease_until, worker.about, worker.wanted
  from (select stint.now() as now) as clock
  left join stint.worker
    on worker.lost_at is null
 order by worker.started_at, worker.id
 limit :limit::integer
