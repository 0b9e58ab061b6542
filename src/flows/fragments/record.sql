-- Insert the records of "fence", the jobs whose lease holds. A final record is never opened again.
insert into stint.step (
  job_id, name, n, seq, type, state, epoch, tries, beside, started_at, ended_at, until, result, result_blob, error)
select id, name, n, seq, type, state, epoch, tries, beside, stint.now() - ms * interval '1 millisecond',
       case when state <> 'open' then stint.now() end,
       coalesce("untilAt", stint.now() + "untilMs" * interval '1 millisecond'), result, blob, error
  from fence
    on conflict (job_id, name, n) do update
   set seq         = excluded.seq,
       state       = excluded.state,
       epoch       = excluded.epoch,
       tries       = excluded.tries,
       ended_at    = excluded.ended_at,
       until       = excluded.until,
       result      = excluded.result,
       result_blob = excluded.result_blob,
       error       = excluded.error
 where step.epoch <= excluded.epoch
   and (step.state = 'open' or excluded.state <> 'open')
returning job_id as id, name, n
