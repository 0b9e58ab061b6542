-- Open an error group again, whether it was resolved or ignored.
update stint.error_group
   set status        = 'open',
       ignored_until = null,
       resolved_at   = null,
       resolved_in   = null
 where fingerprint = :fingerprint::text
returning fingerprint
