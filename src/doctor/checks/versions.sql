-- The versions that live workers run, of Stint and of the code of each queue, where they differ; and how long the youngest
-- worker has run.
with live as (
  select about, started_at
    from stint.worker
   where lost_at is null
     and lease_until >= stint.now()
), told as (
  select null as queue, coalesce(about ->> 'stintVersion', '?') as version, started_at
    from live
  union all
  select served.queue, about ->> 'version', started_at
    from live
   cross join lateral jsonb_object_keys(
                 case when jsonb_typeof(about -> 'queues') = 'object' then about -> 'queues' else '{}' end) as served (queue)
   where about ->> 'version' is not null
)
select queue, array_agg(distinct version order by version) as versions,
       ((extract(epoch from stint.now()) - extract(epoch from max(started_at))) * 1000)::float8 as "youngestMs"
  from told
 group by queue
having count(distinct version) > 1
 order by queue nulls first
