-- Somebody says that this error is repaired, from a version of the app on where one is said.
update stint.error_group
   set status        = 'resolved',
       resolved_at   = stint.now(),
       resolved_in   = :version::text,
       ignored_until = null,
       regressed_at  = null
 where fingerprint = :fingerprint::text
returning fingerprint
