-- The missing partitions of the job history, from today on.
select parent.name || '_' || to_char(day.at, 'YYYYMMDD') as name, day.ahead
  from (values ('finished'), ('attempt'), ('log')) as parent (name)
 cross join (select ahead, (stint.now() at time zone 'utc')::date + ahead as at
               from generate_series(0, :days::integer) as ahead) as day
 where not exists (select
                     from pg_inherits
                     join pg_class
                       on pg_class.oid = inhrelid
                    where inhparent = to_regclass('stint.' || parent.name)
                      and relname = parent.name || '_' || to_char(day.at, 'YYYYMMDD'))
 order by day.ahead, parent.name
