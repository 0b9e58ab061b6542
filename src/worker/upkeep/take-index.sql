-- Note that an index is about to be rebuilt. No row if a process has tried that within the last day, or rebuilds one
-- now: two builds on one table are a deadlock.
insert into stint.index_upkeep as known (name, tried_at, bytes_before, error)
select :name::text, stint.now(), :bytes::bigint, 'came to no end'
 where not exists (select
                     from stint.index_upkeep
                    where took_ms is null
                      and tried_at > stint.now() - interval '5 minutes')
on conflict on constraint index_upkeep_pkey do update
   set tried_at     = stint.now(),
       took_ms      = null,
       bytes_before = excluded.bytes_before,
       bytes_after  = null,
       error        = excluded.error
 where known.tried_at <= stint.now() - interval '1 day'
returning name
