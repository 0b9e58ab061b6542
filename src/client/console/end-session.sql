-- Store that a session has ended, and delete the rows of sessions that have expired since.
with forgotten as (
  delete from stint.ended_session
   where expires_at < stint.now()
     and digest <> :digest::bytea
)
insert into stint.ended_session (digest, expires_at)
values (:digest::bytea, :expiresAt::timestamptz)
    on conflict do nothing
