-- Store the outcomes of some jobs of an operation, and count them. :items is a list of { id, outcome, reason, epoch, fingerprint }.
-- Those that were replayed are followed from here on.
--
-- The sums in JSON may have any shape, because other roles can write these columns: what is no number counts as 0. Numeric,
-- because that cast never fails.
with noted as (
  update stint.operation_job as target
     set outcome     = item.outcome,
         reason      = item.reason,
         epoch       = coalesce(item.epoch, 0),
         fingerprint = item.fingerprint,
         fate        = case when item.outcome = 'acted' and operation.action = 'replay' then 'live' end
    from jsonb_to_recordset(:items::jsonb)
         as item (id uuid, outcome text, reason text, epoch integer, fingerprint text)
    join stint.operation on operation.id = :id::uuid
   where target.operation_id = :id::uuid
     and target.id = item.id
     and target.outcome is null
  returning target.outcome, target.reason, target.fate
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
       skipped_by = case when jsonb_typeof(skipped_by) = 'object' then skipped_by else '{}' end
                    || coalesce(
                         (select jsonb_object_agg(
                                   reason,
                                   jobs + case when jsonb_typeof(skipped_by -> reason) = 'number'
                                               then (skipped_by -> reason)::numeric else 0 end)
                            from counted),
                         '{}'),
       fates      = case when action = 'replay'
                         then case when jsonb_typeof(fates) = 'object' then fates else '{}' end
                              || jsonb_build_object(
                                   'live',
                                   (select count(*) from noted where fate = 'live')
                                   + case when jsonb_typeof(fates -> 'live') = 'number' then (fates -> 'live')::numeric else 0 end)
                    end,
       acted_at   = case when exists (select from noted where outcome = 'acted') then stint.now() else acted_at end
 where id = :id::uuid
