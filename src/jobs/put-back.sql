-- Give jobs back that were claimed and not carried out (released, snoozed), where their lease still holds. No attempt
-- is burned.
--
-- :items is an object by id: { lease, delayMs, ranMs, outcome, reason }. Without delayMs the job is ready at once, in
-- its old place.
with back as (
  update stint.job
     set state      = case when (:items::jsonb -> id::text ->> 'delayMs')::float8 > 0
                           then 'scheduled' else 'ready' end::stint.job_state,
         run_at     = coalesce(
                        stint.now() + (:items::jsonb -> id::text ->> 'delayMs')::float8 * interval '1 millisecond',
                        run_at),
         attempt    = attempt - 1,
         worker_id  = null,
         lease_id   = null,
         started_at = null
   where id       = any(:ids::uuid[])
     and lease_id = any(:leaseIds::uuid[])
  returning id, epoch, attempt + 1 as attempt
), noted as (
  insert into stint.attempt (job_id, epoch, attempt, outcome, worker_id, lease_id, started_at, ended_at, reason)
  select id, epoch, attempt, item ->> 'outcome', :worker::uuid, (item ->> 'lease')::uuid,
         stint.now() - (item ->> 'ranMs')::float8 * interval '1 millisecond', stint.now(), item ->> 'reason'
    from back
   cross join lateral (select :items::jsonb -> id::text as item) as said
)
select id from back
