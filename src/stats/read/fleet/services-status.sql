-- The last success and the last error of each service.
select name, last_ok_at, took_ms, last_error, last_error_at
  from stint.service
 order by name
