-- At most :limit schedules with a fire to decide now, the delay until the next one is due, and fires that were asked for.
--
-- A schedule from code fires only while a live worker has it in its code. A schedule whose input is made by code fires
-- only in a process that has that code: :mine has the names and digests of the schedules of this process.
-- No row is locked: fire.sql checks `turn` again.
-- A value far larger than Stint ever stores is left out or cut, so that it fails the check of its own schedule only.
with fit as (
  select s.*,
         least(s.next_fire_at, case when s.queued_fire_at is not null then stint.now() end) as wanted_at
    from stint.schedule as s
   where (s.next_fire_at is not null or s.queued_fire_at is not null)
     and (not s.input_from_code or s.name || ' ' || s.digest = any(:mine::text[]))
     and (s.source = 'runtime'
          or exists (
            select from stint.worker as w
             where w.lost_at is null
               and w.about -> 'schedules' ? s.name))
), due as (
  select *
    from fit
   where wanted_at <= stint.now()
     -- Stint sets retry_at at most an hour ahead. A later value was written by hand and would stop the schedule for ever.
     and (retry_at is null or retry_at <= stint.now() or retry_at > stint.now() + interval '1 day')
   order by wanted_at
   limit :limit::integer
), asked as (
  select s.name, s.input_from_code, f.fire_at, f.job_id
    from stint.schedule as s
   cross join lateral (
           select fire_at, job_id
             from stint.fire
            where fire.schedule = s.name
              and fire.outcome = 'asked'
            order by job_id
            limit :limit::integer) as f
   where not s.input_from_code
      or s.name || ' ' || s.digest = any(:mine::text[])
   limit :limit::integer
)
select floor(extract(epoch from stint.now()) * 1000)::float8 as now,
       (select (extract(epoch from min(greatest(next_fire_at, retry_at))) - extract(epoch from stint.now())) * 1000
          from fit
         where greatest(next_fire_at, retry_at) > stint.now())::float8 as "nextInMs",
       coalesce((select jsonb_agg(jsonb_build_object(
                          'name', name, 'kind', left(kind, 201), 'queue', left(queue, 201), 'time_zone', left(time_zone, 201),
                          'spec', case when octet_length(spec::text) <= 65536 then spec end,
                          'job', case when octet_length(job::text) <= 65536 then job end,
                          'input_from_code', input_from_code, 'overlap', left(overlap, 201), 'missed', left(missed, 201),
                          'missed_limit', missed_limit, 'missed_window_ms', missed_window_ms, 'jitter_ms', jitter_ms,
                          'keep_fires_ms', keep_fires_ms, 'starts_at', starts_at, 'ends_at', ends_at,
                          'decided_to', decided_to, 'queued_fire_at', queued_fire_at, 'turn', turn::text)
                          order by wanted_at) from due), '[]') as due,
       coalesce((select jsonb_agg(jsonb_build_object(
                          'name', name, 'input_from_code', input_from_code, 'fire_at', fire_at, 'job_id', job_id))
                   from asked), '[]') as asked
