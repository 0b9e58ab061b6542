-- Store more children of a set, in the transaction of spawn.sql, which holds the job's row.
with parent as materialized (
  select id
    from stint.job
   where id = :id::uuid
     and lease_id = :lease::uuid
),
-- include: flows/children
select id from parent
