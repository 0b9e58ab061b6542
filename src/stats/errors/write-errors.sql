-- Write a process's totals of failures by group and hour, and what its groups have to know. Gives the groups among them
-- that count as resolved: whether they are back is decided by isRegression().
--
-- The hours are this process's own rows: totals, guarded by :flush; see write-stats.sql. All processes share the groups,
-- so all lock them in the same order. A group keeps the 50 newest versions that it was seen in.
with said as materialized (
  select *
    from jsonb_to_recordset(:rows::text::jsonb) as said (
           fingerprint text, kind text, class text, name text, title text, message text, job uuid, hour timestamptz,
           "firstAt" timestamptz, "lastAt" timestamptz, failures bigint, deaths bigint)
), grouped as (
  insert into stint.error_group as known (
    fingerprint, kind, class, name, title, message, first_seen, last_seen, versions, sample_job
  )
  select distinct on (fingerprint)
         fingerprint, kind, class, name, title, message, "firstAt", "lastAt",
         case when :version::text is null then '{}'
              else jsonb_build_object(:version::text, to_char("firstAt" at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
         end,
         job
    from said
   order by fingerprint, hour desc
  on conflict on constraint error_group_pkey do update
     set first_seen    = least(known.first_seen, excluded.first_seen),
         last_seen     = greatest(known.last_seen, excluded.last_seen),
         title         = excluded.title,
         message       = excluded.message,
         sample_job    = excluded.sample_job,
         versions      = coalesce((select jsonb_object_agg(newest.key, newest.value)
                                     from (select key, value
                                             from jsonb_each(excluded.versions || known.versions)
                                            order by value desc
                                            limit 50) as newest), '{}'),
         status        = case when known.status = 'ignored' and known.ignored_until <= stint.now() then 'open'
                              else known.status end
  returning fingerprint, kind, name, title, status, resolved_in, resolved_at, sample_job, versions
), counted as (
  insert into stint.error_hour as known (fingerprint, hour, process, flush, failures, deaths)
  select fingerprint, hour, :process::uuid, :flush::integer, failures, deaths
    from said
   order by fingerprint, hour
  on conflict on constraint error_hour_pkey do update
     set flush    = excluded.flush,
         failures = excluded.failures,
         deaths   = excluded.deaths
   where known.flush < excluded.flush
)
select fingerprint, kind, name, title, resolved_in as "resolvedIn", date_trunc('milliseconds', resolved_at) as "resolvedAt", sample_job as "jobId",
       versions ->> :version::text as "versionFirstAt"
  from grouped
 where status = 'resolved'
