-- The last fires of some schedules, latest first.
select name, fire_at as "fireAt", outcome, job_id as "jobId", reason, at
  from unnest(:names::text[]) as wanted (name)
 cross join lateral (
        select fire_at, outcome, job_id, reason, at
          from stint.fire
         where schedule = wanted.name
         order by fire_at desc
         limit :limit::integer) as recent
 order by name, fire_at desc
