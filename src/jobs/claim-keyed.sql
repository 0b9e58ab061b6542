-- Take ready jobs that have a key, one key after the other from a moving start, so that no key waits behind a busy one.
--
-- The keys are found by a loose scan of job_ready_keyed: one probe a key, however many jobs each has. The last row,
-- without an id, says where the next round goes on: after the last key that was served if the limit cut the round short,
-- otherwise after the last key that was looked at, even if none of its jobs were for this worker. Only the first 1,000
-- jobs of a key are looked at: it must not read a million jobs of a kind that this worker does not know.
with recursive keys as (
  (select key
     from stint.job
    where queue = :queue::text
      and state = 'ready'
      and key is not null
      and key > :afterKey::text
    order by key
    limit 1)
  union all
  select (select next.key
            from stint.job as next
           where next.queue = :queue::text
             and next.state = 'ready'
             and next.key is not null
             and next.key > keys.key
           order by next.key
           limit 1)
    from keys
   where keys.key is not null
), turns as (
  select key
    from keys
   where key is not null
   limit :maxKeys::integer
), picked as (
  select mine.id, turns.key
    from turns
   cross join lateral (
           select seen.id
             from (select id, kind, version
                     from stint.job
                    where queue = :queue::text
                      and key = turns.key
                      and key is not null
                      and state = 'ready'
                    order by priority desc, run_at, id
                    limit 1000) as seen
            where seen.version <= (:kinds::jsonb ->> seen.kind)::smallint
            limit :perKey::integer) as mine
   limit :limit::integer
), claimed as (
  update stint.job
     -- include: jobs/claim
   where id = any(array(
           select id
             from stint.job
            where id = any(array(select id from picked))
              and state = 'ready'
              for update skip locked))
  returning id, kind, input, attempt, max_attempts, epoch, version, run_at, priority, key,
            -- include: jobs/rare
            as more
)
select id, kind, input, attempt, max_attempts as "maxAttempts", epoch, version, priority, key, more,
       (run_at at time zone 'utc')::text as "runAt"
  from (select * from claimed order by priority desc, run_at, id) as ordered
union all
select null, null, null, null, null, null, null, null,
       case when (select count(*) from picked) >= :limit::integer
            then (select max(key) from picked)
            when count(*) >= :maxKeys::integer
            then max(key)
       end, null, null
  from turns
