-- Some of an operation's jobs, at even distances from the oldest to the newest, with what they are of: to choose a canary
-- from. One that is not dead any more has no kind here.
--
-- Looked up one by one, which the limit sees to: joined, all dead letters would be read where the planner knows nothing of
-- an operation's jobs.
with placed as (
  select id, row_number() over (order by id) - 1 as place, count(*) over () as total
    from stint.operation_job
   where operation_id = :id::uuid
), seen as (
  select id
    from placed
   where (place + 1) * :most::bigint / total > place * :most::bigint / total
)
select seen.id, letter.kind, letter.key
  from seen
  left join lateral (select kind, key from stint.dead where dead.id = seen.id limit 1) as letter on true
 order by seen.id
