-- Queues that live workers cannot claim from, the longest failure first. A worker's `about` may have any shape.
select coalesce(worker.about ->> 'host', '?') as host, coalesce(worker.about ->> 'pid', '?') as pid,
       one ->> 'queue' as queue, one ->> 'since' as since, one ->> 'error' as error
  from stint.worker
 cross join lateral jsonb_array_elements(case when jsonb_typeof(worker.about -> 'failing') = 'array'
                                              then worker.about -> 'failing' else '[]' end) as one
 where worker.lost_at is null
   and worker.lease_until >= stint.now()
   and one ->> 'queue' is not null
 order by one ->> 'since', worker.id
 limit :limit::integer
