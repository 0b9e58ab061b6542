-- Tell listening workers that a job was stored. On its own connection and after the commit: inside a committing
-- transaction NOTIFY takes one lock of the whole cluster until the WAL is flushed.
select pg_notify(:channel::text, payload)
  from unnest(:payloads::text[]) as payload
