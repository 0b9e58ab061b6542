-- Lead on for another term. No row: somebody else does.
update stint.leader
   set until = stint.now() + :termMs::float8 * interval '1 millisecond'
 where name = :name::text
   and holder = :holder::uuid
   and term = :term::bigint
returning term::text
