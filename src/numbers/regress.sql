-- A resolved group is open again, because it came back. For one of those who saw it, the first.
update stint.error_group
   set status        = 'open',
       regressed_at  = stint.now(),
       resolved_at   = null,
       resolved_in   = null
 where fingerprint = :fingerprint::text
   and status = 'resolved'
   and date_trunc('milliseconds', resolved_at) = :resolvedAt::timestamptz
returning fingerprint
