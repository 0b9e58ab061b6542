-- Keep the lead for another term. No row: another process leads now.
update stint.leader
   set until = stint.now() + :termMs::float8 * interval '1 millisecond'
 where name = :name::text
   and holder = :holder::uuid
   and term = :term::bigint
returning term::text
