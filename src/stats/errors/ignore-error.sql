-- Mute this error: until a time, or for ever if none is given.
update stint.error_group
   set status        = 'ignored',
       ignored_until = :until::timestamptz,
       resolved_at   = null,
       resolved_in   = null
 where fingerprint = :fingerprint::text
returning fingerprint
