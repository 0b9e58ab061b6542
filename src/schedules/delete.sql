-- Delete a schedule and its fires; its jobs stay.
with gone as (
  delete from stint.schedule
   where name = :name::text
     and turn = :turn::bigint
  returning name
), history as (
  delete from stint.fire
   where schedule in (select name from gone)
)
select name from gone
