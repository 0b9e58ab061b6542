-- Of some dead letters, what they died of: in a line.
select id, left(fingerprint, 64) as fingerprint, left(error ->> 'name', 1000) as name, left(error ->> 'message', 1000) as message
  from stint.dead
 where id = any(:ids::uuid[])
