-- Remove outputs whose flow is gone: a job of it was replayed after the flow was removed. A loose scan looks at 1,000 flows;
-- :after is the last flow of the page before.
with recursive page (flow_id, place) as (
  (select flow_id, 1 from stint.flow_output where flow_id > :after::uuid order by flow_id limit 1)
  union all
  select (select next.flow_id from stint.flow_output as next where next.flow_id > page.flow_id order by next.flow_id limit 1), place + 1
    from page
   where flow_id is not null
     and place < 1000
), gone as (
  delete from stint.flow_output
   where flow_id = any(array(
           select page.flow_id
             from page
            where page.flow_id is not null
              and not exists (select from stint.flow where flow.id = page.flow_id)))
)
select flow_id as "last" from page where place = 1000
