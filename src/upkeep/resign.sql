-- Let go of the lead: whoever asks next has it.
update stint.leader
   set holder = null,
       until  = stint.now()
 where name = :name::text
   and holder = :holder::uuid
   and term = :term::bigint
