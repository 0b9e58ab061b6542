-- What consoles share: sessions that were ended, a key for cursors, and the rights that a kept answer rests on.
--
-- Lock: access exclusive on http_reply for a moment; the column is added without rewriting it.
-- breaking: no

-- Sessions that their holder ended before their time. A session is a signed cookie that names its end, so a row is of no
-- use after that.
create table stint.ended_session (
  digest          bytea           not null,                         -- SHA-256 of the cookie's signature
  expires_at      timestamptz     not null,                         -- when the session would have ended by itself
  constraint ended_session_pkey primary key (digest)
);

-- Encrypts cursors that stand among jobs which a caller may not see, so that every console can read them.
create table stint.cursor_key (
  key             bytea           not null,
  is_only         boolean         not null default true,
  constraint cursor_key_pkey primary key (is_only),
  constraint cursor_key_only check (is_only)
);
insert into stint.cursor_key (key)
values (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

alter table stint.http_reply
  add column asked jsonb;                                             -- rights that the answer took: [{ action, of }]
