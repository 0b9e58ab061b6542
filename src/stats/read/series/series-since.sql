-- Since when something could be counted: since the tables were made, or since the first figures where those are older.
-- An hour that the first minute is in begins before there was anything.
select least(made.at, first.minute, case when first.hour < date_trunc('hour', first.minute) then first.hour end) as since
  from (select min(applied_at) as at from stint.migration) as made
 cross join (select (select min(minute) from stint.stat_minute) as minute,
                    (select min(hour) from stint.stat_hour) as hour) as first
