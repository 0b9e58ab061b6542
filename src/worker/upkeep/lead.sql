-- Take the lead for a term, if no process has it or the term of the last leader is over.
insert into stint.leader as held (name, holder, term, until, about)
values (:name::text, :holder::uuid, 1, stint.now() + :termMs::float8 * interval '1 millisecond', :about::text::jsonb)
on conflict on constraint leader_pkey do update
   set holder = excluded.holder,
       term   = held.term + 1,
       since  = stint.now(),
       until  = excluded.until,
       about  = excluded.about
 where held.holder is null
    or held.until < stint.now()
returning term::text
