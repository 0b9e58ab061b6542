-- What the leader has to do for flows: whose endings are older than :olderThanMs, and whether jobs watch others or flows are
-- cancelled. A loose scan of the index finds each flow once, however many endings it has; :after is the last flow of the page
-- before.
with recursive overdue (flow_id, step) as (
  (select flow_id, 1 from stint.flow_ending where flow_id > :after::uuid order by flow_id limit 1)
  union all
  select (select ending.flow_id from stint.flow_ending as ending where ending.flow_id > overdue.flow_id order by ending.flow_id limit 1),
         step + 1
    from overdue
   where flow_id is not null
     and step < 500
)
select (select max(flow_id::text) from overdue where step = 500) as "last",
       array(select flow_id
               from overdue
              where flow_id is not null
                and exists (select
                              from stint.flow_ending as ending
                             where ending.flow_id = overdue.flow_id
                               and ending.written_at <= stint.now() - :olderThanMs::float8 * interval '1 millisecond')) as flows,
       exists (select from stint.flow where ended_at is null) as "hasOpen",
       exists (select from stint.job_watch) as "hasWatches",
       exists (select from stint.flow where cancel_at is not null and ended_at is null) as "hasCancelled"
