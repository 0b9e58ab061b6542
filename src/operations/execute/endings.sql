-- The results of the canary: for each job, its first ending since the action, or none yet. An attempt that was given back,
-- snoozed or lost is not an ending.
select target.id, ending.outcome, coalesce(ending.fingerprint = target.fingerprint, false) as "isSame"
  from stint.operation_job as target
  left join lateral (
         select outcome, fingerprint
           from (select epoch, 'failed' as outcome, fingerprint
                   from stint.attempt
                  where job_id = target.id
                    and epoch > target.epoch
                    and ended_at >= :since::timestamptz - interval '1 hour'
                    and outcome not in ('released', 'snoozed', 'lease-lost', 'refused', 'thrown-late')
                 union all
                 select epoch, 'failed', fingerprint
                   from stint.dead
                  where dead.id = target.id
                    and epoch > target.epoch
                 union all
                 select epoch, state::text, null
                   from stint.finished
                  where finished.id = target.id
                    and finished_at >= :since::timestamptz - interval '1 hour') as since
          order by epoch
          limit 1) as ending
    on true
 where target.operation_id = :id::uuid
   and target.is_canary
   and target.outcome = 'acted'
