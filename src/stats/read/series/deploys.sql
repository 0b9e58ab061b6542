-- The first start of each version of the app, if it was between :from and :to. Rows of workers are kept for a week after
-- their end.
select about ->> 'version' as version, min(started_at) as at
  from stint.worker
 where about ->> 'version' is not null
 group by about ->> 'version'
having min(started_at) between :from::timestamptz and :to::timestamptz
 order by min(started_at)
 limit :limit::integer
