-- Open errors that jobs died of within about the last hour (deaths are counted by the hour), the deadliest first. One
-- that was ignored until a time that has passed counts as open. An error whose dead letters were all replayed, edited or
-- discarded is left out.
--
-- The upper bound of hours is as in last-hour.sql.
with lately as materialized (
  select fingerprint, sum(deaths)::float8 as deaths
    from stint.error_hour
   where hour >= date_trunc('hour', stint.now() - interval '1 hour')
     and hour < stint.now() + interval '1 day'
     and deaths > 0
   group by fingerprint
)
select error_group.fingerprint, error_group.kind, error_group.name, error_group.title, error_group.first_seen as "firstSeen",
       error_group.last_seen as "lastSeen", error_group.regressed_at as "regressedAt", error_group.sample_job as "sampleJob", lately.deaths
  from lately
  join stint.error_group using (fingerprint)
 where error_group.last_seen > stint.now() - interval '1 hour'
   and exists (select
                 from stint.dead
                where dead.fingerprint = error_group.fingerprint
                  and dead.discarded_at is null
                  and dead.replaced_by is null)
   and (error_group.status = 'open' or error_group.status = 'ignored' and error_group.ignored_until <= stint.now())
 order by lately.deaths desc, error_group.fingerprint
 limit :limit::integer
