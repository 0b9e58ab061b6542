-- How long ago each service last succeeded.
select name, (extract(epoch from stint.now() - last_ok_at) * 1000)::float8 as "ageMs"
  from stint.service
 where last_ok_at is not null
