-- How many of these dead letters crashed their worker.
select count(*)::integer as jobs
  from stint.dead
 where id = any(:ids::uuid[])
   and reason = 'quarantined'
