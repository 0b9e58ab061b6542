-- Take jobs of a limited queue, some of each lane, as far as its limits and rates allow: 0012_claim_limited.sql. A lane without a key
-- is a priority of jobs without one. The last row has no id and says what stopped others.
--
-- Jobs that start in order are placed by created_at, the others by run_at.
select key, note, case when options ? 'ordered' then (created_at at time zone 'utc')::text end as "createdAt",
       -- include: jobs/claimed
  from (select (claimed.job).*, claimed.note
          from stint.claim_limited(
                 :queue::text, :worker::uuid, :lease::uuid, :kinds::jsonb, :limit::integer,
                 :keys::text[], :priorities::smallint[], :floorAts::timestamptz[], :floorIds::uuid[], :takes::integer[],
                 :ordered::boolean[]) as claimed) as job
