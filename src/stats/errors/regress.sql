-- Open a resolved group again, because its error came back. Only the first process that notices it gets a row.
update stint.error_group
   set status        = 'open',
       regressed_at  = stint.now(),
       resolved_at   = null,
       resolved_in   = null
 where fingerprint = :fingerprint::text
   and status = 'resolved'
   and date_trunc('milliseconds', resolved_at) = :resolvedAt::timestamptz
returning fingerprint
