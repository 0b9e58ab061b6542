-- The fires of a schedule within a range.
select fire_at as "fireAt", outcome, job_id as "jobId", reason, at
  from stint.fire
 where schedule = :name::text
   and fire_at between :from::timestamptz and :to::timestamptz
 order by fire_at
