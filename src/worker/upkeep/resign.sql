-- Release the lead: the next process that asks gets it.
update stint.leader
   set holder = null,
       until  = stint.now()
 where name = :name::text
   and holder = :holder::uuid
   and term = :term::bigint
