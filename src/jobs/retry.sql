-- Send failed jobs back to wait for their next attempt, where their lease still holds, and note what went wrong.
--
-- :items is an object by id: { lease, delayMs, burns, spared, class, ranMs, outcome, error, fingerprint, reason }. A failure that
-- counts against the budget of its class burns no attempt: the attempt is given back. One that is spared counts nowhere. A job
-- that was asked to stop meanwhile is ready at once: the worker that claims it ends it. An attempt that reached its end was no
-- crash. A job that others of its key may pass leaves the order.
with back as (
  update stint.job
     set state      = case when (:items::jsonb -> id::text ->> 'delayMs')::float8 > 0 and cancel_at is null
                           then 'retrying' else 'ready' end::stint.job_state,
         run_at     = stint.now() + case when cancel_at is null
                                         then (:items::jsonb -> id::text ->> 'delayMs')::float8
                                         else 0 end * interval '1 millisecond',
         attempt    = attempt - case when (:items::jsonb -> id::text ->> 'burns')::boolean then 0 else 1 end,
         failures   = coalesce(failures, '{}') || jsonb_build_object(
                        :items::jsonb -> id::text ->> 'class',
                        coalesce((failures ->> (:items::jsonb -> id::text ->> 'class'))::integer, 0)
                          + case when (:items::jsonb -> id::text ->> 'spared')::boolean then 0 else 1 end),
         options    = case when options ->> 'ordered' = 'pass' then nullif(options - 'ordered', '{}') else options end,
         suspect    = false,
         worker_id  = null,
         lease_id   = null,
         started_at = null
   where id       = any(:ids::uuid[])
     and lease_id = any(:leaseIds::uuid[])
     and (select set_config('lock_timeout', coalesce(:lockMs::text, current_setting('lock_timeout')), true)) is not null
  returning id, queue, kind, epoch, attempt + case when (:items::jsonb -> id::text ->> 'burns')::boolean then 0 else 1 end as attempt
), counted as (
  insert into stint.stat_settle (minute, queue, kind, failed)
  select date_trunc('minute', stint.now()), queue, kind, count(*)
    from back
   group by queue, kind
), noted as (
  insert into stint.attempt (
    job_id, epoch, attempt, outcome, worker_id, lease_id, started_at, ended_at, error, fingerprint, reason)
  select id, epoch, attempt, item ->> 'outcome', :worker::uuid, (item ->> 'lease')::uuid,
         stint.now() - (item ->> 'ranMs')::float8 * interval '1 millisecond', stint.now(),
         item -> 'error', item ->> 'fingerprint', item ->> 'reason'
    from back
   cross join lateral (select :items::jsonb -> id::text as item) as said
)
select id from back
