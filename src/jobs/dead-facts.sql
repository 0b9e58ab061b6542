-- Of some dead letters, what they died of: in a line.
select id, fingerprint, error ->> 'name' as name, left(error ->> 'message', 1000) as message
  from stint.dead
 where id = any(:ids::uuid[])
