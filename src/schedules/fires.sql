-- The fires of a schedule before a time, latest first.
select fire_at as "fireAt", outcome, job_id as "jobId", reason, at
  from stint.fire
 where schedule = :name::text
   and fire_at < :before::timestamptz
 order by fire_at desc
 limit :limit::integer
