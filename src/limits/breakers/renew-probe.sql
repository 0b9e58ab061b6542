-- Keep the right to probe while probes run, for as long as the breaker may be open. False: it is over.
update stint.breaker
   set probe_until = stint.now() + :leaseMs::float8 * interval '1 millisecond'
 where name = :name::text
   and state = 'half-open'
   and probe_by = :prober::uuid
returning stint.now() < since + greatest(most_open_ms, :leaseMs::float8) * interval '1 millisecond' as "mayGoOn"
