-- Backpressure and drain: how full a queue may get, who is refused then, and queues that take no new jobs.
--
-- The gauges of 0006 are too rough for it: above some thousand jobs they are smoothed estimates, they rest while nothing seems
-- to change, and without a worker nothing writes them. So queues with a rule are counted here, at most every two seconds, by
-- the process that asks first. A producer asks through pressure_of(), which runs with the rights of its owner.
--
-- Lock: ACCESS EXCLUSIVE on stint.queue for a moment; the columns are added without a rewrite.
-- breaking: no

alter table stint.queue
  add column closed_at    timestamptz,                              -- since when it takes no jobs
  add column close_reason text,
  add constraint queue_close_reason check (octet_length(close_reason) <= 4000);

-- The jobs that wait in a queue with a rule, as they were last counted. One row is updated every two seconds at most.
create table stint.queue_pressure (
  queue           text collate "C" not null,
  counted_at      timestamptz,                                      -- null: never
  depth           bigint          not null default 0,               -- ready, scheduled, retrying and waiting jobs
  is_estimate     boolean         not null default false,           -- there are more than were counted
  oldest_ready_at timestamptz,
  keys            jsonb           not null default '{}',            -- key to jobs, the 1,000 deepest
  refused         bigint          not null default 0,               -- jobs that producers were refused, in all
  constraint queue_pressure_pkey primary key (queue),
  constraint queue_pressure_in_bounds check (octet_length(queue) between 1 and 128 and depth >= 0 and refused >= 0
                                             and jsonb_typeof(keys) = 'object')
) with (fillfactor = 50);

-- A maximum of a rule; null where it is missing, and where another role wrote something that is none.
create function stint.rule_number(rule jsonb, name text) returns double precision
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(rule -> name) = 'number'
              then case when (rule ->> name)::numeric between 1 and 1e12 then (rule ->> name)::double precision end end
$$;

-- What stint.queue.pressure says. A broken rule has no maximum, so it refuses nothing.
create function stint.pressure_rule(pressure jsonb, out max_depth double precision, out max_age_ms double precision,
                                    out key_max_depth double precision, out when_full text, out is_broken boolean)
language sql immutable parallel safe
as $$
  select case when read.is_sound then read.max_depth end,
         case when read.is_sound then read.max_age_ms end,
         case when read.is_sound then read.key_max_depth end,
         case when read.is_sound then pressure ->> 'whenFull' end,
         not read.is_sound
    from (select maximum.*,
                 jsonb_typeof(pressure) = 'object'
                   and coalesce(pressure ->> 'whenFull' in ('reject', 'shed', 'warn'), false)
                   and num_nonnulls(maximum.max_depth, maximum.max_age_ms, maximum.key_max_depth)
                       = (select count(*)
                            from unnest(array['maxDepth', 'maxAgeMs', 'keyMaxDepth']) as name
                           where jsonb_typeof(pressure -> name) <> 'null')
                   and num_nonnulls(maximum.max_depth, maximum.max_age_ms, maximum.key_max_depth) > 0 as is_sound
            from (select stint.rule_number(pressure, 'maxDepth') as max_depth,
                         stint.rule_number(pressure, 'maxAgeMs') as max_age_ms,
                         stint.rule_number(pressure, 'keyMaxDepth') as key_max_depth) as maximum) as read
$$;

-- The part of a maximum that jobs of a priority may fill where whenFull is 'shed': half at -100, three quarters at 0, all at 100.
create function stint.shed_share(priority double precision) returns double precision
language sql immutable parallel safe
as $$
  select 0.75 + 0.25 * sign(priority) * sqrt(least(abs(priority), 100) / 100)
$$;

-- Counts the jobs of a queue that wait, through the indexes of claims: up to `most` of each sort, so that it costs the same
-- however full the queue is. Fewer than `most` in all: the count is exact.
create function stint.count_waiting(of_queue text, most integer, with_keys boolean,
                                    out jobs bigint, out oldest_ready_at timestamptz, out keys jsonb)
language plpgsql stable
as $$
begin
  with part as materialized (
    select null::text as key, count(*) as found, min(seen.run_at) as oldest
      from (select job.run_at
              from stint.job
             where state = 'ready' and key is null and job.queue = of_queue
             order by job.queue, job.priority desc, job.run_at, job.id
             limit most) as seen
    union all
    select seen.key, count(*), min(seen.run_at)
      from (select case when with_keys then job.key end as key, job.run_at
              from stint.job
             where state = 'ready' and job.key is not null and job.queue = of_queue
             order by job.queue, job.key, job.priority desc, job.run_at, job.id
             limit most) as seen
     group by seen.key
    union all
    select seen.key, count(*), null
      from (select case when with_keys then job.key end as key
              from stint.job
             where state in ('scheduled', 'retrying') and job.queue = of_queue
             order by job.queue, job.run_at
             limit most) as seen
     group by seen.key
    union all
    select seen.key, count(*), null
      from (select case when with_keys then job.key end as key
              from stint.job
             where state = 'waiting' and job.queue = of_queue
             order by job.queue, job.run_at
             limit most) as seen
     group by seen.key
  )
  select coalesce(sum(part.found), 0)::bigint, min(part.oldest),
         (select coalesce(jsonb_object_agg(deepest.key, deepest.found), '{}')
            from (select part.key, sum(part.found)::bigint as found
                    from part
                   where part.key is not null
                   group by part.key
                   order by 2 desc, 1
                   limit 1000) as deepest)
    into jobs, oldest_ready_at, keys
    from part;
end
$$;

-- How full a queue is at this moment, for its rule. Up to 50,000 jobs are counted, and not more than twice what the rule
-- allows; beyond that the estimate of the gauges counts where it is higher.
create function stint.measure_pressure(of_queue text, max_depth double precision, key_max_depth double precision,
                                       out depth bigint, out is_estimate boolean, out oldest_ready_at timestamptz, out keys jsonb)
language plpgsql stable
as $$
declare
  most    constant integer := case when key_max_depth is not null then 50000
                                   else least(coalesce(2 * max_depth + 1, 10000), 50000) end;
  counted record;
  gauge   record;
begin
  select * into counted from stint.count_waiting(of_queue, most, key_max_depth is not null);
  depth := counted.jobs;
  is_estimate := counted.jobs >= most;
  oldest_ready_at := counted.oldest_ready_at;
  keys := counted.keys;
  if is_estimate then
    select g.ready + g.scheduled + g.retrying + g.waiting as jobs, g.oldest_ready_at into gauge
      from stint.queue_gauge as g
     where g.queue = of_queue;
    depth := greatest(depth, gauge.jobs);
    oldest_ready_at := least(oldest_ready_at, gauge.oldest_ready_at);
  end if;
end
$$;

-- Counts those of these queues that have a rule and were not counted within the last two seconds. One process counts a queue;
-- the others use the count before.
create function stint.refresh_pressure(of_queues text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  due record;
begin
  if current_setting('transaction_read_only')::boolean then
    return;
  end if;
  for due in
    select queue.name, rule.max_depth, rule.key_max_depth
      from stint.queue
     cross join lateral stint.pressure_rule(queue.pressure) as rule
      left join stint.queue_pressure as last on last.queue = queue.name
     where queue.name = any(of_queues)
       and queue.pressure is not null
       and not rule.is_broken
       and coalesce(last.counted_at not between stint.now() - interval '2 seconds' and stint.now(), true)
     order by queue.name
  loop
    continue when not pg_try_advisory_xact_lock(hashtextextended('stint.queue_pressure ' || due.name, 0));
    insert into stint.queue_pressure as last (queue, counted_at, depth, is_estimate, oldest_ready_at, keys)
    select due.name, stint.now(), measured.*
      from stint.measure_pressure(due.name, due.max_depth, due.key_max_depth) as measured
    on conflict on constraint queue_pressure_pkey do update
       set counted_at      = excluded.counted_at,
           depth           = excluded.depth,
           is_estimate     = excluded.is_estimate,
           oldest_ready_at = excluded.oldest_ready_at,
           keys            = excluded.keys;
  end loop;
end
$$;

-- What a producer must know: every queue that has a rule or takes no jobs, and how full those of them are that it asks for.
-- A queue that is asked for has a row in any case; without a rule its depth is the figure of the gauges.
create function stint.pressure_of(of_queues text[])
returns table (queue text, takes_jobs boolean, closed_at timestamptz, close_reason text, max_depth double precision,
               max_age_ms double precision, key_max_depth double precision, when_full text, is_broken boolean,
               depth double precision, is_estimate boolean, oldest_ms double precision, keys jsonb,
               counted_at timestamptz, counted_ago_ms double precision, refused double precision)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform stint.refresh_pressure(of_queues);
  return query
  with asked as materialized (
    select distinct name
      from unnest(of_queues) as name
     where name is not null
  ), shown as (
    (select queue.name
       from stint.queue
      where queue.pressure is not null
         or not queue.takes_jobs
      order by queue.name
      limit 10000)
    union
    select name from asked
  )
  select shown.name, coalesce(set_for.takes_jobs, true), set_for.closed_at, set_for.close_reason,
         rule.max_depth, rule.max_age_ms, rule.key_max_depth, rule.when_full,
         set_for.pressure is not null and rule.is_broken,
         figure.depth::double precision, figure.is_estimate,
         (extract(epoch from stint.now() - figure.oldest_ready_at) * 1000)::double precision,
         case when rule.key_max_depth is not null then figure.keys end,
         figure.counted_at,
         (extract(epoch from stint.now() - figure.counted_at) * 1000)::double precision,
         coalesce(last.refused, 0)::double precision
    from shown
    left join stint.queue as set_for on set_for.name = shown.name
    left join lateral stint.pressure_rule(set_for.pressure) as rule on set_for.pressure is not null
    left join stint.queue_pressure as last on last.queue = shown.name
    left join lateral (
           select last.depth, last.is_estimate, last.oldest_ready_at, last.keys, last.counted_at
            where rule.is_broken is false
              and last.counted_at is not null
           union all
           select gauge.ready + gauge.scheduled + gauge.retrying + gauge.waiting, true, gauge.oldest_ready_at, null, refresh.refreshed_at
             from stint.queue_gauge as gauge
            cross join stint.gauge_refresh as refresh
            where rule.is_broken is not false
              and gauge.queue = shown.name) as figure on shown.name = any(of_queues);
end
$$;

-- Adds to the totals of refused jobs, { queue: jobs }; only for queues that can refuse any.
create function stint.note_refused(refused jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  said record;
begin
  for said in
    select queue.name, least(stint.rule_number(refused, queue.name), 1e9)::bigint as jobs
      from stint.queue
     where queue.name = any(array(select jsonb_object_keys(refused) limit 1000))
       and (queue.pressure is not null or not queue.takes_jobs)
     order by queue.name
  loop
    continue when said.jobs is null;
    insert into stint.queue_pressure as total (queue, refused)
    values (said.name, said.jobs)
    on conflict on constraint queue_pressure_pkey do update
       set refused = least(total.refused, 1000000000000000) + excluded.refused;
  end loop;
end
$$;

-- Refuses a job of stint.enqueue() whose queue is closed (ST006) or full (ST005). Reads the last count; where that is older than
-- four seconds, because no worker and no producer of the library counts, it counts itself.
create function stint.refuse_when_full(of_queue text, of_priority double precision, of_key text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  rule  record;
  last  record;
  share double precision;
  full_by text;
begin
  select queue.takes_jobs, queue.close_reason, queue.pressure is not null as has_rule, of_rule.* into rule
    from stint.queue
    left join lateral stint.pressure_rule(queue.pressure) as of_rule on queue.pressure is not null
   where queue.name = of_queue;
  if not found then
    return;
  elsif not rule.takes_jobs then
    raise exception 'The queue "%" is closed and takes no jobs', of_queue
      using errcode = 'ST006', detail = coalesce(rule.close_reason, ''), hint = 'Open it with: stint queue open ' || of_queue;
  elsif not rule.has_rule or rule.is_broken or rule.when_full = 'warn' then
    return;
  end if;

  select p.depth, p.oldest_ready_at, p.keys into last
    from stint.queue_pressure as p
   where p.queue = of_queue
     and p.counted_at between stint.now() - interval '4 seconds' and stint.now();
  if not found then
    select m.depth, m.oldest_ready_at, m.keys into last
      from stint.measure_pressure(of_queue, rule.max_depth, rule.key_max_depth) as m;
  end if;
  share := case when rule.when_full = 'shed' then stint.shed_share(of_priority) else 1 end;
  full_by := case
    when last.depth + 1 > ceil(rule.max_depth * share)
    then format('depth %s of %s', last.depth, rule.max_depth)
    when extract(epoch from stint.now() - last.oldest_ready_at) * 1000 > rule.max_age_ms * share
    then format('its oldest ready job waited %s s of %s s',
                round(extract(epoch from stint.now() - last.oldest_ready_at)), round(rule.max_age_ms / 1000))
    when of_key is not null and coalesce(stint.rule_number(last.keys, of_key), 0) + 1 > ceil(rule.key_max_depth * share)
    then format('key "%s": depth %s of %s', of_key, coalesce(stint.rule_number(last.keys, of_key), 0), rule.key_max_depth)
  end;
  if full_by is not null then
    raise exception 'The queue "%" is full: %', of_queue, full_by
      using errcode = 'ST005', detail = full_by, hint = 'Try again in some seconds, or later than others with a low priority.';
  end if;
end
$$;
