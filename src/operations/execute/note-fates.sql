-- Read some replayed jobs of an operation whose ending is not stored yet, newest first, and store the endings found.
-- Returns how many jobs it read, the last of them, and the sums.
--
-- Job by job, as jobs/settled.sql: the bounds on time prune history.
-- The sums may have any shape, because other roles can write this column: what is no number counts as 0. Numeric, because that
-- cast never fails.
with seen as materialized (
  select id, epoch, fingerprint
    from stint.operation_job
   where operation_id = :id::uuid
     and fate = 'live'
     and id < :before::uuid
   order by id desc
   limit :limit::integer
), known as (
  select seen.id, ending.fate
    from seen
   cross join lateral (
          select case when dead.fingerprint = seen.fingerprint then 'same-error' else 'other-error' end as fate
            from stint.dead
           where dead.id = seen.id
             and dead.epoch > seen.epoch
          union all
          select finished.state::text
            from stint.finished
           where finished.id = seen.id
             and finished.finished_at >= :since::timestamptz - interval '1 hour'
             and finished.finished_at <  stint.now() + interval '1 hour'
           limit 1) as ending
), noted as (
  update stint.operation_job as target
     set fate = known.fate
    from known
   where target.operation_id = :id::uuid
     and target.id = known.id
     and target.fate = 'live'
  returning target.fate
), summed as (
  select fate, count(*) as jobs
    from noted
   group by fate
), counted as (
  update stint.operation
     set fates = case when jsonb_typeof(fates) = 'object' then fates else '{}' end
                 || (select jsonb_object_agg(
                              fate,
                              jobs + case when jsonb_typeof(fates -> fate) = 'number' then (fates -> fate)::numeric else 0 end)
                       from summed)
                 || jsonb_build_object(
                      'live',
                      case when jsonb_typeof(fates -> 'live') = 'number' then (fates -> 'live')::numeric else 0 end
                      - (select sum(jobs) from summed))
   where id = :id::uuid
     and exists (select from summed)
  returning fates
)
select (select count(*) from seen)::integer as seen,
       (select id from seen order by id limit 1) as last,
       coalesce((select fates from counted), operation.fates) as fates
  from stint.operation
 where id = :id::uuid
