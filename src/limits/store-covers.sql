-- Say which queues and kinds the rules of a worker's code cover. Limits name their covers themselves. Rates, breakers and
-- order are named by contracts, and several programs may serve one queue: each decides for the kinds that it handles.
with wanted as materialized (
  select d.queue, d.type, d.name, d.kinds, d.type <> 'concurrency' or d.name like '%/order' as by_contract
    from jsonb_to_recordset(:covers::jsonb) as d (queue text, type text, name text, kinds text[])
), handled as materialized (
  select d.queue, d.kinds
    from jsonb_to_recordset(:handled::jsonb) as d (queue text, kinds text[])
), merged as materialized (
  select wanted.queue, wanted.type, wanted.name, wanted.kinds
    from wanted
   where not by_contract
  union all
  select queue, type, name, array_agg(distinct kind)
    from (select queue, type, name, unnest(kinds) as kind
            from wanted
           where by_contract
          union
          -- Kinds of other programs.
          select old.queue, old.type, old.name, kind
            from stint.limit_cover as old
            left join handled on handled.queue = old.queue
           cross join unnest(old.kinds) as kind
           where (old.type <> 'concurrency' or old.name like '%/order')
             and kind <> all(coalesce(handled.kinds, '{}'))) as each_kind
   group by queue, type, name
), gone as (
  delete from stint.limit_cover as old
   where not exists (select from merged where (merged.queue, merged.type, merged.name) = (old.queue, old.type, old.name))
     and (old.type = 'concurrency' and old.name in (select name from wanted where not by_contract)
          or (old.type <> 'concurrency' or old.name like '%/order') and old.queue in (select queue from handled))
  returning old.queue
), stored as (
  insert into stint.limit_cover as old (queue, type, name, kinds)
  select queue, type, name, kinds
    from merged
  on conflict on constraint limit_cover_pkey do update
     set kinds = excluded.kinds,
         since = stint.now()
   where old.kinds is distinct from excluded.kinds
  returning old.queue
)
select queue from gone
union
select queue from stored
