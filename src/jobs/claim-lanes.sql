-- Take ready jobs that have a key, some of each lane: a lane is a key and a priority, and has a floor as in claim.sql.
--
-- The lanes come as arrays, in the order of this process's ring. Each costs one probe of job_ready_keyed, and then its jobs in
-- order, however many jobs and keys the queue has and however many dead entries lie before the floor.
-- `limit lane.take` stands inside, so that a lane never gives more than its share.
update stint.job
   -- include: jobs/claim
 where id = any(array(
         select mine.id
           from unnest(:keys::text[], :priorities::smallint[], :floorAts::timestamptz[], :floorIds::uuid[], :takes::integer[])
                  as lane (key, priority, floor_at, floor_id, take)
          cross join lateral (
                  select job.id
                    from stint.job
                   where -- include: jobs/in-lane
                     and (job.run_at, job.id) > (lane.floor_at, lane.floor_id)
                     and job.version <= (:kinds::jsonb ->> job.kind)::smallint
                     and (select stint.is_open(:queue::text))
                   order by job.run_at, job.id
                   limit lane.take
                     for update skip locked) as mine))
returning key, -- include: jobs/claimed
