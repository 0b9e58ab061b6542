-- Note what became of some jobs of an operation, and count it. :items is a list of { id, outcome, reason, epoch, fingerprint }.
with noted as (
  update stint.operation_job as target
     set outcome     = item.outcome,
         reason      = item.reason,
         epoch       = coalesce(item.epoch, 0),
         fingerprint = item.fingerprint
    from jsonb_to_recordset(:items::jsonb)
         as item (id uuid, outcome text, reason text, epoch integer, fingerprint text)
   where target.operation_id = :id::uuid
     and target.id = item.id
     and target.outcome is null
  returning target.outcome, target.reason
), counted as (
  select reason, count(*) as jobs
    from noted
   where outcome = 'skipped'
   group by reason
)
update stint.operation
   set acted      = acted + (select count(*) from noted where outcome = 'acted'),
       skipped    = skipped + (select count(*) from noted where outcome = 'skipped'),
       failed     = failed + (select count(*) from noted where outcome = 'failed'),
       skipped_by = skipped_by || coalesce(
                      (select jsonb_object_agg(reason, coalesce((skipped_by ->> reason)::integer, 0) + jobs) from counted),
                      '{}')
 where id = :id::uuid
