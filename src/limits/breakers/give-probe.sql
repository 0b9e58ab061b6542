-- Let another process probe at once.
update stint.breaker
   set probe_until = stint.now()
 where name = :name::text
   and state = 'half-open'
   and probe_by = :prober::uuid
