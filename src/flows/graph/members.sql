-- The jobs of some nodes of a flow, wherever they are, in the order of their nodes and places. Of a job that is there twice, because
-- it was moved while we looked, the caller takes one.
select id, node, state::text as state, left(queue, 200) as queue, left(kind, 200) as kind, left(key, 512) as key, attempt,
       created_at as "createdAt", run_at as "runAt", started_at as "startedAt", finished_at as "finishedAt",
       case when pg_column_size(waits) < 8192 then waits end as waits
  from stint.jobs
 where flow_id = :id::uuid
   and node = any(:nodes::smallint[])
 order by node, member nulls last, id
 limit :limit::integer
