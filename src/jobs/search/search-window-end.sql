-- How many jobs the window of search-window.sql had, and the last of them.
with seen as (
  select id
    from stint.jobs
   where id <= :upTo::uuid
     and place = any(:tables::text[])
   order by id desc
   limit :window::integer
)
select count(*)::integer as looked,
       (select id from seen order by id limit 1) as last
  from seen
