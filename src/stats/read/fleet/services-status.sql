-- How each service fares.
select name, last_ok_at, took_ms, last_error, last_error_at
  from stint.service
 order by name
