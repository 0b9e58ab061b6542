-- Nobody wants to hear of this error, until a time where one is said.
update stint.error_group
   set status        = 'ignored',
       ignored_until = :until::timestamptz,
       resolved_at   = null,
       resolved_in   = null
 where fingerprint = :fingerprint::text
returning fingerprint
