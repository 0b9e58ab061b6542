-- Candidates for the canary of an operation: some of its jobs at even distances from oldest to newest, with kind and key. A
-- job that is no longer dead has no kind here.
--
-- The limit makes the planner look the dead letters up one by one. With a plain join and no statistics of an operation's jobs
-- it reads all dead letters.
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
