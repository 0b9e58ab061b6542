-- Note that a session is over, and forget those that would be over by now anyway.
with forgotten as (
  delete from stint.ended_session
   where expires_at < stint.now()
     and digest <> :digest::bytea
)
insert into stint.ended_session (digest, expires_at)
values (:digest::bytea, :expiresAt::timestamptz)
    on conflict do nothing
