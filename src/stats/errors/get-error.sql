-- One group of errors with its last message, and how often it happened in each hour that is kept.
select fingerprint, kind, class, name, title, message, first_seen as "firstSeen", last_seen as "lastSeen", versions,
       sample_job as "sampleJob",
       case when status = 'ignored' and ignored_until <= stint.now() then 'open' else status end as status,
       resolved_at as "resolvedAt", resolved_in as "resolvedIn", ignored_until as "ignoredUntil",
       regressed_at as "regressedAt", coalesce(hours.counts, '[]') as hours, stint.now() as now
  from stint.error_group
 cross join lateral (
         select jsonb_agg(jsonb_build_object('at', one.hour, 'failures', one.failures, 'deaths', one.deaths)
                          order by one.hour) as counts
           from (select hour, sum(failures) as failures, sum(deaths) as deaths
                   from stint.error_hour
                  where error_hour.fingerprint = error_group.fingerprint
                  group by hour) as one) as hours
 where fingerprint = :fingerprint::text
