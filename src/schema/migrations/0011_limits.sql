-- Concurrency limits and order by key: the rules, and how many jobs of each run. Claims under them: 0012_claim_limited.sql.
--
-- The claim takes a transaction lock, counts what runs, and picks jobs that fit. Everything is derived from rows of stint.job
-- under that lock: nothing is counted up and down, so a crash leaks nothing, and no row is updated per job.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- Which queue, or which kinds of it, a rule is about.
create table stint.limit_cover (
  queue           text collate "C" not null,
  type            text            not null,
  name            text collate "C" not null,
  kinds           text[],                                           -- null: all kinds
  since           timestamptz     not null default stint.now(),
  constraint limit_cover_pkey primary key (queue, type, name),
  constraint limit_cover_type check (type in ('concurrency', 'rate', 'breaker')),
  constraint limit_cover_in_bounds check (octet_length(queue) between 1 and 128 and octet_length(name) between 1 and 128
                                          and cardinality(kinds) between 1 and 1000)
);

create index limit_cover_name on stint.limit_cover (type, name, queue);

create table stint.concurrency_limit (
  name            text collate "C" not null,
  by_key          boolean         not null default false,           -- each key counts by itself
  max             integer         not null,
  tiers           jsonb,                                            -- { "gold": 10 }
  on_limit        text            not null default 'wait',
  source          text            not null default 'code',
  updated_at      timestamptz     not null default stint.now(),
  override_max    integer,
  override_until  timestamptz,
  override_by     text,
  override_reason text,
  constraint concurrency_limit_pkey primary key (name),
  constraint concurrency_limit_name check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'),
  constraint concurrency_limit_in_bounds check (max >= 0 and override_max >= 0 and jsonb_typeof(tiers) = 'object'),
  constraint concurrency_limit_policy check (on_limit in ('wait', 'drop-newest', 'latest-wins')),
  constraint concurrency_limit_source check (source in ('code', 'runtime')),
  constraint concurrency_limit_texts check (octet_length(override_by) <= 512 and octet_length(override_reason) <= 2000)
);

-- What one key has of a limit, beside all others.
create table stint.limit_key (
  name            text collate "C" not null,
  key             text collate "C" not null,
  max             integer,
  weight          integer,
  tier            text,
  until           timestamptz     not null default 'infinity',
  by              text,
  reason          text,
  updated_at      timestamptz     not null default stint.now(),
  constraint limit_key_pkey primary key (name, key),
  constraint limit_key_in_bounds check (octet_length(name) between 1 and 128 and octet_length(key) between 1 and 512
                                        and max >= 0 and weight between 1 and 1000 and octet_length(tier) <= 128),
  constraint limit_key_texts check (octet_length(by) <= 512 and octet_length(reason) <= 2000)
);

-- The keys with a weight, which workers read with the rules of their queues.
create index limit_key_weight on stint.limit_key (name, key) where weight is not null;

-- The jobs of a queue that ran when the row was written: all that was claimed up to `floor` and still runs is in `ids`. A count
-- reads these and the claims above the floor, so it never reads past jobs that ended long ago. The newest row counts.
create table stint.running_base (
  queue           text collate "C" not null,
  version         bigint          not null,
  floor           bigint          not null,
  ids             uuid[]          not null,
  keys            text[]          not null,
  made_at         timestamptz     not null default clock_timestamp(),
  constraint running_base_pkey primary key (queue, version)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);

create sequence stint.claim_order;
-- The last_value of a sequence that was never used is its first value: the first job would lie at the floor and not above it.
select nextval('stint.claim_order');

-- The maximum of a tier. A value that is no number counts as none: another role may have written it.
create function stint.tier_max(tiers jsonb, tier text) returns integer
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(tiers -> tier) = 'number'
              then greatest(0, least(2147483647, floor((tiers ->> tier)::numeric)))::integer end
$$;

-- The concurrency limits that cover a queue, as they are now.
create function stint.limits_of(of_queue text)
returns table (name text, kinds text[], by_key boolean, max integer, tiers jsonb, on_limit text)
language sql stable
as $$
  select rule.name, cover.kinds, rule.by_key,
         case when rule.override_until > stint.now() then coalesce(rule.override_max, rule.max) else rule.max end,
         rule.tiers, rule.on_limit
    from stint.limit_cover as cover
    join stint.concurrency_limit as rule on rule.name = cover.name
   where cover.queue = of_queue
     and cover.type = 'concurrency'
$$;

-- The jobs of a queue that run under limits: those claimed after the floor of its newest base, and those of the base that
-- still run. A job that was given back and claimed again is among the first.
create function stint.running_of(of_queue text) returns table (id uuid, key text, kind text)
language sql stable
as $$
  with base as materialized (
    select floor, ids from stint.running_base where queue = of_queue order by version desc limit 1
  )
  select job.id, job.key, job.kind
    from stint.job
   where job.queue = of_queue
     and job.state = 'running'
     and job.claim_seq is not null
     and job.claim_seq > (select floor from base)
  union all
  select job.id, job.key, job.kind
    from stint.job
   where job.id = any(array(select unnest(ids) from base))
     and job.lease_id is not null
     and job.queue = of_queue
     and coalesce(job.claim_seq, 0) <= (select floor from base)
$$;

-- The same for some keys: the jobs of the base that have other keys are not looked up.
create function stint.running_of_keys(of_queue text, of_keys text[]) returns table (id uuid, key text, kind text)
language sql stable
as $$
  with base as materialized (
    select floor, ids, keys from stint.running_base where queue = of_queue order by version desc limit 1
  ), lane as materialized (
    select distinct lane.key from unnest(of_keys) as lane (key) where lane.key is not null
  ), since as materialized (
    select job.id, job.key, job.kind
      from stint.job
     where job.queue = of_queue
       and job.state = 'running'
       and job.claim_seq is not null
       and job.claim_seq > (select floor from base)
  )
  select since.id, since.key, since.kind
    from since
    join lane on lane.key = since.key
  union all
  select job.id, job.key, job.kind
    from stint.job
   where job.id = any(array(
           select old.id
             from base
            cross join unnest(base.ids, base.keys) as old (id, key)
             join lane on lane.key = old.key))
     and job.lease_id is not null
     and job.queue = of_queue
     and coalesce(job.claim_seq, 0) <= (select floor from base)
$$;

-- How many jobs of each limit of a queue run, in all queues that the limit covers: {"gpu": 3, "media/tenant acme": 2}. Where
-- all limits are by key, only these keys are counted. One jsonb value: rows would be estimated as one and looped over.
create function stint.used_of(of_queue text, of_keys text[]) returns jsonb
language plpgsql stable
as $$
declare
  counts jsonb;
begin
  with cover as materialized (
    select cover.queue, cover.kinds, rule.name, rule.by_key
      from stint.limits_of(of_queue) as rule
      join stint.limit_cover as cover on cover.type = 'concurrency' and cover.name = rule.name
  ), running as materialized (
    select served.queue, r.key, r.kind
      from (select distinct queue from cover where (select bool_and(by_key) from cover)) as served
     cross join lateral stint.running_of_keys(served.queue, of_keys) as r
    union all
    select served.queue, r.key, r.kind
      from (select distinct queue from cover where not (select bool_and(by_key) from cover)) as served
     cross join lateral stint.running_of(served.queue) as r
  )
  select jsonb_object_agg(counted.name, counted.jobs)
    into counts
    from (select cover.name || case when cover.by_key then ' ' || running.key else '' end as name, count(*) as jobs
            from running
            join cover on cover.queue = running.queue and (cover.kinds is null or running.kind = any(cover.kinds))
           group by 1) as counted
   where counted.name is not null;
  return coalesce(counts, '{}');
end
$$;

-- The buckets that cover a queue, for these keys, as they are now; `have` is what jobs may take.
create function stint.buckets_of(of_queue text, of_keys text[])
returns table (name text, key text, kinds text[], by_key boolean, have double precision, per_ms double precision,
               tokens double precision, seq bigint, at timestamptz, blocked_until timestamptz, burst double precision,
               taken double precision, refused double precision)
language sql stable
as $$
  select rate.name, lane.key, cover.kinds, rate.by_key,
         case when last.blocked_until > stint.now() then least(0, level.tokens - rate.keep) else level.tokens - rate.keep end,
         speed.per_ms, level.tokens, last.seq, greatest(stint.now(), last.at), last.blocked_until, rate.burst,
         coalesce(last.taken, 0), coalesce(last.refused, 0)
    from stint.limit_cover as cover
    join stint.rate on rate.name = cover.name
   cross join lateral (
           select stint.tokens_per_ms(rate.tokens, rate.period_ms, rate.override_tokens, rate.override_until) as per_ms) as speed
   cross join lateral (
           select distinct case when rate.by_key then coalesce(k, '') else '' end as key from unnest(of_keys) as k) as lane
    left join lateral (
           select bucket.seq, bucket.tokens, bucket.at, bucket.blocked_until, bucket.taken, bucket.refused
             from stint.rate_bucket as bucket
            where bucket.name = rate.name
              and bucket.key = lane.key
            order by bucket.seq desc
            limit 1) as last on true
   cross join lateral (
           select least(rate.burst,
                        coalesce(last.tokens + greatest(extract(epoch from stint.now() - last.at), 0) * 1000 * speed.per_ms,
                                 rate.burst)) as tokens) as level
   where cover.queue = of_queue
     and cover.type = 'rate'
$$;

-- Takes all locks of a claim, each sort in one order: of the queue, of each limit that it shares with other queues, of its
-- buckets.
create function stint.lock_limits(of_queue text, of_keys text[]) returns void
language plpgsql
as $$
begin
  perform pg_advisory_xact_lock(names.lock)
     from (select hashtextextended('stint.claim ' || of_queue, 0) as lock
           union
           select hashtextextended('stint.limit ' || mine.name, 0)
             from stint.limit_cover as mine
             join stint.limit_cover as other
               on other.type = 'concurrency' and other.name = mine.name and other.queue <> of_queue
            where mine.queue = of_queue
              and mine.type = 'concurrency'
            order by lock) as names;
  perform pg_advisory_xact_lock(buckets.lock)
     from (select distinct stint.bucket_lock(rate.name, case when rate.by_key then coalesce(k, '') else '' end) as lock
             from stint.limit_cover as cover
             join stint.rate on rate.name = cover.name
            cross join unnest(of_keys) as k
            where cover.queue = of_queue
              and cover.type = 'rate'
            order by lock) as buckets;
end
$$;

-- What a job of each of these kinds may cost at most: {"note.embed": 18000}. A job that costs more waits for ever, and must not
-- keep others behind it. Null where no rate covers the queue.
create function stint.most_cost(of_queue text, of_kinds jsonb) returns jsonb
language sql stable
as $$
  select jsonb_object_agg(each.kind, each.most)
    from (select kind.name as kind, min(rate.burst - rate.keep) as most
            from stint.limit_cover as cover
            join stint.rate on rate.name = cover.name
            join jsonb_object_keys(of_kinds) as kind (name) on cover.kinds is null or kind.name = any(cover.kinds)
           where cover.queue = of_queue
             and cover.type = 'rate'
           group by kind.name) as each
$$;

-- Under the lock: now and then writes down what runs, so that later claims need not read past what has ended since.
create function stint.rebase(of_queue text) returns void
language plpgsql
as $$
declare
  base record;
  last bigint := (select last_value from stint.claim_order);
begin
  select version, floor, cardinality(ids) as size, made_at into base
    from stint.running_base where queue = of_queue order by version desc limit 1;
  if base.version is null
     or exists (select from stint.limit_cover
                 where queue = of_queue and type = 'concurrency' and since > clock_timestamp() - interval '15 s') then
    -- What was claimed before the limit was set has no number, and some of it may still commit: count everything.
    insert into stint.running_base (queue, version, floor, ids, keys)
    select of_queue, coalesce(base.version, 0) + 1, last, coalesce(array_agg(id), '{}'), coalesce(array_agg(key), '{}')
      from stint.job where state = 'running' and queue = of_queue;
  elsif last - base.floor > 1000 + base.size / 2 and base.made_at < clock_timestamp() - interval '100 ms' then
    insert into stint.running_base (queue, version, floor, ids, keys)
    select of_queue, base.version + 1, last, coalesce(array_agg(id), '{}'), coalesce(array_agg(key), '{}')
      from stint.running_of(of_queue);
  else
    return;
  end if;
  delete from stint.running_base where queue = of_queue and version = base.version;
end
$$;
