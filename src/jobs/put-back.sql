-- Give jobs back that were claimed and not carried out (released, snoozed, their own process ended under them), if
-- their lease still holds. No attempt is burned; a crash is counted.
--
-- :items is an object by id: { lease, delayMs, ranMs, outcome, reason, crashes }. Without delayMs the job is ready at
-- once, with its old run_at. A job that was asked to stop meanwhile is ready at once too: the worker that claims it
-- ends it.
with back as (
  update stint.job
     set state      = case when (:items::jsonb -> id::text ->> 'delayMs')::float8 > 0 and cancel_at is null
                           then case when :items::jsonb -> id::text ? 'crashes' then 'retrying' else 'scheduled' end
                           else 'ready' end::stint.job_state,
         run_at     = case when cancel_at is null
                           then coalesce(
                                  stint.now() + (:items::jsonb -> id::text ->> 'delayMs')::float8 * interval '1 millisecond',
                                  run_at)
                           else run_at end,
         attempt    = attempt - 1,
         crashes    = least(crashes + coalesce((:items::jsonb -> id::text ->> 'crashes')::integer, 0), 32767),
         worker_id  = null,
         lease_id   = null,
         started_at = null
   where id       = any(:ids::uuid[])
     and lease_id = any(:leaseIds::uuid[])
     and (select set_config('lock_timeout', coalesce(:lockMs::text, current_setting('lock_timeout')), true)) is not null
  returning id, queue, kind, epoch, attempt + 1 as attempt
), counted as (
  insert into stint.stat_settle (minute, queue, kind, snoozed, released, crashed)
  select date_trunc('minute', stint.now()), queue, kind, count(*) filter (where outcome = 'snoozed'),
         count(*) filter (where outcome = 'released'), count(*) filter (where outcome = 'crashed')
    from back
   cross join lateral (select :items::jsonb -> id::text ->> 'outcome' as outcome) as said
   group by queue, kind
), noted as (
  insert into stint.attempt (job_id, epoch, attempt, outcome, worker_id, lease_id, started_at, ended_at, reason)
  select id, epoch, attempt, item ->> 'outcome', :worker::uuid, (item ->> 'lease')::uuid,
         stint.now() - (item ->> 'ranMs')::float8 * interval '1 millisecond', stint.now(), item ->> 'reason'
    from back
   cross join lateral (select :items::jsonb -> id::text as item) as said
)
select id from back
