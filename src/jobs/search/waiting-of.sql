-- Which of some jobs wait for something of some sorts.
select id
  from stint.job
 where id = any(:ids::uuid[])
   and state::text = 'waiting'
   and waits ?| :keys::text[]
