-- Claims of a limited queue: under its locks they count what runs, pick jobs that fit, and take them.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- Picks jobs of a limited queue that fit under all its limits and rates, locks their rows, and spends their tokens. The lanes are
-- of the caller's ring, in turn; a lane without a key is a priority of jobs without one. The limits hold for jobs that are
-- claimed in the same transaction.
--
-- `note` says what stopped others: { "closed": keys whose limit is reached now, "dry": keys whose own buckets lack tokens, and
-- for how many ms, "isFull": whether another limit or a rate held jobs back, "waitMs": when the tokens of that rate come,
-- "isOnlyRate": whether nothing but rates did, "gaps": keys of which later jobs were picked than one that was held back ('' for
-- jobs without a key), "hasPolicy": whether a limit that is reached does more than let jobs wait }.
--
-- Jobs pay in turn: one that lacks tokens keeps those behind it from the same bucket. A job that lacks tokens of one bucket does
-- not count for its other buckets. The wait is for some jobs at once, a quarter of the bucket and at most 100 ms: a claim for
-- each token would cost more than the jobs.
--
-- Each part is a statement of its own: in read committed that is a new snapshot, which sees all that was claimed before the
-- lock was given. Custom plans are forbidden: the picking statement would be planned anew each time, 3 to 6 ms a claim.
create function stint.pick_limited(
  p_queue text, p_kinds jsonb, p_limit integer,
  p_keys text[], p_priorities smallint[], p_floor_ats timestamptz[], p_floor_ids uuid[], p_takes integer[], p_ordered boolean[],
  out picked uuid[], out note jsonb)
language plpgsql set plan_cache_mode = force_generic_plan set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  used       jsonb;
  has_both   boolean := true = any(p_ordered) and false = any(p_ordered);
  found_jobs integer;
  room_left  integer;
  closed     text[];
  gaps       jsonb;
  seen_ids   uuid[];
  seen_keys  text[];
  wait_ms    double precision;
  most_cost  jsonb;
  allowed    integer;
  dry        jsonb;
  dry_jobs   integer;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'limits need read committed, not %', current_setting('transaction_isolation') using errcode = 'ST004';
  end if;
  perform stint.lock_limits(p_queue, p_keys);
  if exists (select from stint.queue where name = p_queue and paused_until > stint.now()) then
    note := '{}';
    return;
  end if;
  perform stint.rebase(p_queue);
  used := stint.used_of(p_queue, p_keys);
  most_cost := stint.most_cost(p_queue, p_kinds);

  with rule as materialized (
    select * from stint.limits_of(p_queue)
  ), whole as materialized (
    -- What the limits of the whole queue leave.
    select min(greatest(rule.max - coalesce((used ->> rule.name)::integer, 0), 0)) as room
      from rule
     where not rule.by_key
       and rule.kinds is null
  ), open as materialized (
    select lane.*,
           least(lane.take, case when lane.is_ordered then 1 end,
                 (select min(coalesce(own.max, stint.tier_max(rule.tiers, own.tier), rule.max)
                             - coalesce((used ->> (rule.name || ' ' || lane.key))::integer, 0))
                    from rule
                    left join stint.limit_key as own on own.name = rule.name and own.key = lane.key and own.until > stint.now()
                   where rule.by_key
                     and rule.kinds is null
                     and lane.key is not null)) as room
      from unnest(p_keys, p_priorities, p_floor_ats, p_floor_ids, p_takes, p_ordered)
             as lane (key, priority, floor_at, floor_id, take, is_ordered)
  ), seen as materialized (
    select mine.id, mine.kind, mine.cost, open.key, row_number() over () as place
      from open
     cross join lateral (
             select keyed.*
               from (select job.id, job.kind, coalesce((job.options ->> 'cost')::integer, 1) as cost
                       from stint.job
                      where job.queue = p_queue
                        and job.key = open.key
                        and job.key is not null
                        and job.state = 'ready'
                        and job.priority = open.priority
                        and (job.run_at, job.id) > (open.floor_at, open.floor_id)
                        and job.version <= (p_kinds ->> job.kind)::smallint
                        and (most_cost is null or coalesce((job.options ->> 'cost')::integer, 1) <= coalesce((most_cost ->> job.kind)::float8, 1e9))
                        and (job.options ? 'ordered') is not true
                        and not open.is_ordered
                      order by job.run_at, job.id
                      limit greatest(open.room, 0)
                        for update skip locked) as keyed
             union all
             select plain.*
               from (select job.id, job.kind, coalesce((job.options ->> 'cost')::integer, 1) as cost
                       from stint.job
                      where job.queue = p_queue
                        and job.key is null
                        and job.state = 'ready'
                        and job.priority = open.priority
                        and (job.run_at, job.id) > (open.floor_at, open.floor_id)
                        and job.version <= (p_kinds ->> job.kind)::smallint
                        and (most_cost is null or coalesce((job.options ->> 'cost')::integer, 1) <= coalesce((most_cost ->> job.kind)::float8, 1e9))
                        and open.key is null
                      order by job.run_at, job.id
                      limit greatest(open.room, 0)
                        for update skip locked) as plain
             union all
             -- The first live job of the key, looked at without a lock: skip locked would pass over one that runs inside ctx.tx.
             select head.id, head.kind, head.cost
               from (select job.id, job.kind, coalesce((job.options ->> 'cost')::integer, 1) as cost, job.state, job.version
                       from stint.job
                      where job.queue = p_queue
                        and job.key = open.key
                        and job.options ? 'ordered'
                        and (job.created_at, job.id) > (open.floor_at, open.floor_id)
                        and open.is_ordered
                      order by job.created_at, job.id
                      limit 1) as head
              cross join lateral (
                      select
                        from stint.job
                       where job.id = head.id
                         and job.state = head.state
                         for update skip locked) as held
              where head.state = 'ready'
                and head.version <= (p_kinds ->> head.kind)::smallint
                and (most_cost is null or head.cost <= coalesce((most_cost ->> head.kind)::float8, 1e9))) as mine
     where open.room > 0
     limit least(p_limit, (select room from whole))
  ), within as materialized (
    -- Limits of some kinds cut what was seen, in turn. So do limits by key where a key has two lanes.
    select *
      from seen
     where seen.id <> all(array(
             select ranked.id
               from (select seen.id,
                            row_number() over (partition by rule.name, case when rule.by_key then seen.key end order by seen.place) as nth,
                            coalesce(own.max, stint.tier_max(rule.tiers, own.tier), rule.max)
                              - coalesce((used ->> (rule.name || case when rule.by_key then ' ' || seen.key else '' end))::integer, 0) as room
                       from seen
                       join rule
                         on (seen.kind = any(rule.kinds) or has_both and rule.by_key and rule.kinds is null)
                        and (not rule.by_key or seen.key is not null)
                       left join stint.limit_key as own
                         on rule.by_key and own.name = rule.name and own.key = seen.key and own.until > stint.now()) as ranked
              where ranked.nth > ranked.room))
  ), asked as materialized (
    select within.id, within.place, within.cost, bucket.*,
           count(*) filter (where within.cost > bucket.have) over (partition by within.id) as lacking
      from within
      join stint.buckets_of(p_queue, p_keys) as bucket
        on (bucket.kinds is null or within.kind = any(bucket.kinds))
       and bucket.key = case when bucket.by_key then coalesce(within.key, '') else '' end
  ), summed as materialized (
    select asked.*,
           sum(case when lacking > 0 and cost <= have then 0 else cost end) over (partition by name, key order by place) as sum
      from asked
  ), refused as materialized (
    select id, key, by_key and key <> '' as is_of_key, burst / 4 / per_ms as quarter,
           greatest((sum - have) / per_ms, extract(epoch from blocked_until - stint.now()) * 1000, 0) as wait
      from summed
     where sum > have
  )
  select array_agg(within.id order by within.place)
           filter (where within.id <> all(array(select refused.id from refused))),
         (select array_agg(distinct open.key)
            from open
           where open.room < open.take
             and open.room <= (select count(*) from seen where seen.key = open.key)),
         (select greatest(min(wait), least(max(wait), min(quarter), 100)) from refused where not is_of_key),
         (select jsonb_object_agg(of_key.key, of_key.ms)
            from (select key, greatest(min(wait), least(max(wait), min(quarter), 100)) as ms
                    from refused
                   where is_of_key
                   group by key) as of_key),
         (select count(*) from (select id from refused group by id having bool_and(is_of_key)) as only_dry),
         count(*), (select count(*) from seen), (select room from whole),
         (select array_agg(seen.id order by seen.place) from seen), (select array_agg(seen.key order by seen.place) from seen)
    into picked, closed, wait_ms, dry, dry_jobs, allowed, found_jobs, room_left, seen_ids, seen_keys
    from within;
  picked := coalesce(picked, '{}');
  if cardinality(picked) between 1 and found_jobs - 1 then
    gaps := (select jsonb_agg(distinct coalesce(held.key, ''))
               from unnest(seen_ids, seen_keys) with ordinality as held (id, key, place)
               join unnest(seen_ids, seen_keys) with ordinality as later (id, key, place)
                 on coalesce(later.key, '') = coalesce(held.key, '') and later.place > held.place
              where held.id <> all(picked)
                and later.id = any(picked));
  end if;

  if cardinality(picked) > 0 and exists (select from stint.limit_cover where queue = p_queue and type = 'rate') then
    with spent as (
      insert into stint.rate_bucket (name, key, seq, tokens, at, taken, refused)
      select bucket.name, bucket.key, stint.next_seq(bucket.seq), greatest(-1e9, bucket.tokens - cost.sum), bucket.at,
             bucket.taken + cost.sum, bucket.refused
        from stint.buckets_of(p_queue, p_keys) as bucket
       cross join lateral (
               select sum(coalesce((job.options ->> 'cost')::integer, 1))
                 from stint.job
                where job.id = any(picked)
                  and (bucket.kinds is null or job.kind = any(bucket.kinds))
                  and (not bucket.by_key or coalesce(job.key, '') = bucket.key)) as cost
       where cost.sum > 0
      returning name, key, seq
    )
    delete from stint.rate_bucket as bucket
     using spent
     where bucket.name = spent.name
       and bucket.key = spent.key
       and bucket.seq = case when spent.seq = 0 then 8999999999999999999 else spent.seq - 1 end;
  end if;
  note := jsonb_strip_nulls(jsonb_build_object(
    'closed', closed, 'dry', dry, 'waitMs', wait_ms, 'gaps', gaps,
    'hasPolicy', nullif((closed is not null or coalesce(room_left <= found_jobs, false) or found_jobs > allowed)
                        and exists (select from stint.limits_of(p_queue) where on_limit <> 'wait'), false),
    'isOnlyRate', nullif(allowed = found_jobs and coalesce(room_left > found_jobs, true), false),
    'isFull', nullif(found_jobs > cardinality(picked) + dry_jobs or coalesce(room_left <= found_jobs, false), false)));
end
$$;

-- Claims jobs of a limited queue. The last row, without a job, has the note of pick_limited().
create function stint.claim_limited(
  p_queue text, p_worker uuid, p_lease uuid, p_kinds jsonb, p_limit integer,
  p_keys text[], p_priorities smallint[], p_floor_ats timestamptz[], p_floor_ids uuid[], p_takes integer[], p_ordered boolean[])
returns table (job stint.job, note jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  choice record;
begin
  choice := stint.pick_limited(p_queue, p_kinds, p_limit, p_keys, p_priorities, p_floor_ats, p_floor_ids, p_takes, p_ordered);
  return query
    update stint.job as j
       set state      = 'running',
           worker_id  = p_worker,
           lease_id   = p_lease,
           attempt    = j.attempt + 1,
           epoch      = j.epoch + 1,
           started_at = stint.now(),
           unique_key = case when j.unique_until_start then null else j.unique_key end,
           claim_seq  = nextval('stint.claim_order')
     where j.id = any(choice.picked)
    returning j, null::jsonb;
  return query select null::stint.job, choice.note;
end
$$;
