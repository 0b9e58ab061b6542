-- Choose some of an operation's jobs to be tried first, at even distances from the oldest to the newest.
with placed as (
  select id, row_number() over (order by id) - 1 as place, count(*) over () as total
    from stint.operation_job
   where operation_id = :id::uuid
), chosen as (
  select id
    from placed
   where (place + 1) * :canary::bigint / total > place * :canary::bigint / total
)
update stint.operation_job as target
   set is_canary = true
  from chosen
 where target.operation_id = :id::uuid
   and target.id = chosen.id
