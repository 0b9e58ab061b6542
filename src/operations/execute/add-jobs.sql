-- Store the jobs of an operation, each once, and count them.
with added as (
  insert into stint.operation_job (operation_id, id)
  select :id::uuid, unnest(:ids::uuid[])
  on conflict do nothing
  returning id
)
update stint.operation
   set noted  = noted + (select count(*) from added)
 where id = :id::uuid
returning noted
