-- A time that fired or was asked for before stays as it is; a missed or skipped time is decided again.
on conflict (schedule, fire_at) do update
   set outcome = excluded.outcome,
       job_id  = excluded.job_id,
       reason  = excluded.reason,
       at      = excluded.at
 where f.outcome in ('missed', 'skipped')
