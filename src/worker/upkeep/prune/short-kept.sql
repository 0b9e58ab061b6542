-- For each retention time that is shorter than the longest: the days that may have finished jobs to remove.
select kept.kept::text as kept, relname::text as "dayTable"
  from (select least(keep_finished, interval '36525 days') from stint.queue where keep_finished is not null
         union
        select stint.kept_by_default()) as kept (kept)
 cross join pg_inherits
  join pg_class
    on pg_class.oid = inhrelid
 where stint.now() - kept.kept > stint.history_start()
   and inhparent = 'stint.finished'::regclass
   and relname ~ '^finished_[0-9]{8}$'
   and to_date(right(relname, 8), 'YYYYMMDD')::timestamp at time zone 'utc' < stint.now() - kept.kept
 order by kept.kept, relname
