-- The last ready job of each of some lanes above its floor, among those that a claim sent :agoMs ago can have seen: as
-- tail.sql, for jobs with keys.
select lane.key, lane.priority, (last.run_at at time zone 'utc')::text as "runAt", last.id
  from unnest(:keys::text[], :priorities::smallint[], :floorAts::timestamptz[], :floorIds::uuid[])
         as lane (key, priority, floor_at, floor_id)
 cross join lateral (
         select job.run_at, job.id
           from stint.job
          where -- include: jobs/in-lane
            and (job.run_at, job.id) > (lane.floor_at, lane.floor_id)
            and job.run_at < stint.now() - :agoMs::float8 * interval '1 millisecond'
          order by job.run_at desc, job.id desc
          limit 1) as last
