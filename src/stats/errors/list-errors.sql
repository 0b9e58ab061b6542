-- Groups of errors, those seen last first, with how often they happened in each of the last 24 hours.
-- One that is ignored until a time that has passed counts as open.
with clock as materialized (
  select stint.now() as now
), picked as materialized (
  select fingerprint, kind, class, name, title, first_seen, last_seen, versions, sample_job,
         case when status = 'ignored' and ignored_until <= clock.now then 'open' else status end as status,
         resolved_at, resolved_in, ignored_until, regressed_at
    from stint.error_group
   cross join clock
   where kind = coalesce(:kind::text, kind)
     and case when status = 'ignored' and ignored_until <= clock.now then 'open' else status end
         = coalesce(:status::text, case when status = 'ignored' and ignored_until <= clock.now then 'open' else status end)
     and (not :isDeadly::boolean
          or exists (select from stint.error_hour where error_hour.fingerprint = error_group.fingerprint and deaths > 0))
   order by last_seen desc
   limit :limit::integer
)
select fingerprint, kind, class, name, title, first_seen as "firstSeen", last_seen as "lastSeen", versions,
       sample_job as "sampleJob", status, resolved_at as "resolvedAt", resolved_in as "resolvedIn",
       ignored_until as "ignoredUntil", regressed_at as "regressedAt", coalesce(hours.counts, '[]') as hours, clock.now
  from picked
 cross join clock
 cross join lateral (
         select jsonb_agg(jsonb_build_object('at', one.hour, 'failures', one.failures, 'deaths', one.deaths)
                          order by one.hour) as counts
           from (select hour, sum(failures) as failures, sum(deaths) as deaths
                   from stint.error_hour
                  where error_hour.fingerprint = picked.fingerprint
                    and hour > clock.now - interval '24 hours'
                  group by hour) as one) as hours
 order by last_seen desc
