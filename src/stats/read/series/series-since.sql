-- When counting began: when the tables were made, or at the first counts if these are older. The hour of the first minute
-- does not count, because it begins before that minute.
select least(made.at, first.minute, case when first.hour < date_trunc('hour', first.minute) then first.hour end) as since
  from (select min(applied_at) as at from stint.migration) as made
 cross join (select (select min(minute) from stint.stat_minute) as minute,
                    (select min(hour) from stint.stat_hour) as hour) as first
