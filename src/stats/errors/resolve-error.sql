-- Mark an error group as resolved: since a version of the app if one is given, otherwise as of now.
update stint.error_group
   set status        = 'resolved',
       resolved_at   = stint.now(),
       resolved_in   = :version::text,
       ignored_until = null,
       regressed_at  = null
 where fingerprint = :fingerprint::text
returning fingerprint
