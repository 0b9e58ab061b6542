-- Take the key for a request that is about to be answered; returns no row if another request has it. If the process that
-- took it ends without an answer, the key is free again after :holdMs.
insert into stint.http_reply (scope, key, digest, expires_at)
values (:scope, :key, :digest::bytea, stint.now() + make_interval(secs => :holdMs::double precision / 1000))
    on conflict (scope, key) do update
   set digest     = excluded.digest,
       status     = null,
       headers    = null,
       body       = null,
       asked      = null,
       expires_at = excluded.expires_at
 where http_reply.expires_at <= stint.now()
returning true as is_ours
