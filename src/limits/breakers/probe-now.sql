-- Let an open breaker be probed now, unless a person has opened it.
update stint.breaker
   set probe_at = stint.now()
 where name = :name::text
   and state = 'open'
   and (forced_until > stint.now()) is not true
returning name
