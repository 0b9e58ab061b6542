-- This error is somebody's business again.
update stint.error_group
   set status        = 'open',
       ignored_until = null,
       resolved_at   = null,
       resolved_in   = null
 where fingerprint = :fingerprint::text
returning fingerprint
