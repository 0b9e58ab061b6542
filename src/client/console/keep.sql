-- Keep an answer, and remove a few expired ones, so that the table does not grow.
with removed as (
  delete from stint.http_reply
   where (scope, key) in (
           select scope, key
             from stint.http_reply
            where expires_at < stint.now()
              -- Not the row that is written below.
              and (scope, key) <> (:scope::text, :key::text)
            order by expires_at
            limit 20
              for update skip locked
         )
)
insert into stint.http_reply (scope, key, digest, status, headers, body, asked, expires_at)
values (:scope, :key, :digest::bytea, :status::smallint, :headers::jsonb, :body, :asked::jsonb,
        stint.now() + make_interval(secs => :keepMs::double precision / 1000))
    on conflict (scope, key) do update
   set digest     = excluded.digest,
       status     = excluded.status,
       headers    = excluded.headers,
       body       = excluded.body,
       asked      = excluded.asked,
       expires_at = excluded.expires_at
