-- The worker that leads upkeep, if there is one.
select holder, about, since, until
  from stint.leader
 where name = :name::text
   and holder is not null
   and until >= stint.now()
