-- Take the oldest signal that a running job waits for, or note that its wait is over, where the job's lease still holds; what
-- happened becomes the record of the call, in one statement: never both, and never neither without a trace.
--
-- The record of a wait that the job suspended for exists already and knows when the wait ends. Returns a row if the lease holds.
-- With a final record nothing is taken: an earlier try, whose reply was lost, wrote it, perhaps while this statement waited for
-- the job's row. This statement cannot see that record; the caller reads it.
with fence as materialized (
  select id
    from stint.job
   where id       = :id::uuid
     and lease_id = :lease::uuid
     for no key update
), found as materialized (
  select signal.id, jsonb_build_object('payload', signal.payload, 'id', signal.id, 'by', signal.sent_by, 'sentAt', signal.sent_at) as result
    from fence
   cross join lateral (
           select *
             from stint.signal
            where signal.job_id = fence.id
              and signal.name = :signal::text
              and signal.taken_by is null
              and (:match::jsonb is null or signal.payload @> :match::jsonb)
            order by signal.id
            limit 1
              for update) as signal
), written as (
  insert into stint.step (job_id, name, n, seq, type, state, epoch, beside, started_at, ended_at, result)
  select fence.id, :name::text, :n::integer, :seq::integer, 'signal', 'done', :epoch::integer, :beside::boolean,
         stint.now() - :ms::float8 * interval '1 millisecond', stint.now(), coalesce(found.result, '{"timedOut": true}')
    from fence
    left join found on true
   where found.id is not null
      or exists (select
                   from stint.step
                  where step.job_id = fence.id
                    and step.name = :name::text
                    and step.n = :n::integer
                    and step.until <= stint.now())
      on conflict (job_id, name, n) do update
     set seq      = excluded.seq,
         state    = 'done',
         epoch    = excluded.epoch,
         ended_at = excluded.ended_at,
         result   = excluded.result
   where step.epoch <= excluded.epoch
     and step.state = 'open'
  returning result
), taken as (
  update stint.signal
     set taken_by = :epoch::integer
   where id = any(array(select id from found where exists (select from written)))
)
select (select result from written) as result
  from fence
