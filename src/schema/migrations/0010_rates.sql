-- Rates: token buckets that jobs, handlers and web requests share.
--
-- take_tokens() and change_bucket() run with the rights of their owner: a producer takes tokens without a right to the tables.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- The checks keep a row that another role wrote from stopping a queue: no NaN, no infinity, no division by zero.
create table stint.rate (
  name            text collate "C" not null,
  by_key          boolean         not null default false,           -- one bucket per key
  tokens          double precision not null,                        -- tokens per period
  period_ms       double precision not null,
  burst           double precision not null,                        -- a full bucket
  keep            double precision not null default 0,              -- tokens that jobs leave to other takers
  source          text            not null default 'code',
  updated_at      timestamptz     not null default stint.now(),
  override_tokens double precision,
  override_until  timestamptz,
  override_by     text,
  override_reason text,
  constraint rate_pkey primary key (name),
  constraint rate_name check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'),
  constraint rate_in_bounds check (tokens > 0 and tokens <= 1e9 and period_ms between 1 and 315576000000
                                   and burst between 1 and 1e9 and keep >= 0 and keep <= burst
                                   and override_tokens > 0 and override_tokens <= 1e9),
  constraint rate_source check (source in ('code', 'runtime')),
  constraint rate_texts check (octet_length(override_by) <= 256 and octet_length(override_reason) <= 2000)
);

-- The level of each bucket. Append-only: the newest row counts and is found first, while a row that is updated lies behind all
-- its dead versions when a session holds an old snapshot.
create table stint.rate_bucket (
  name            text collate "C" not null,
  key             text collate "C" not null default '',
  seq             bigint          not null,
  tokens          double precision not null,                        -- below zero: promised ahead of time
  at              timestamptz     not null,
  blocked_until   timestamptz,
  constraint rate_bucket_pkey primary key (name, key, seq),
  constraint rate_bucket_in_bounds check (octet_length(name) <= 128 and octet_length(key) <= 512 and tokens between -1e9 and 1e9
                                          and at between '1970-01-01Z' and '9999-01-01Z')
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);

-- The lock of a bucket. The buckets of one rate by key share 32 locks, so that a claim of many keys takes few.
create function stint.bucket_lock(of_name text, of_key text) returns bigint
language sql immutable parallel safe
as $$
  select hashtextextended('stint.rate_bucket ' || of_name || ' ' || case when of_key = '' then 0 else hashtext(of_key) & 31 end, 0)
$$;

-- How many tokens a rate gives in a millisecond, as it is now.
create function stint.tokens_per_ms(tokens double precision, period_ms double precision, override_tokens double precision,
                                    override_until timestamptz) returns double precision
language sql stable parallel safe
as $$
  select case when override_until > stint.now() then coalesce(override_tokens, tokens) else tokens end / period_ms
$$;

-- Takes tokens of a bucket. With enough tokens: all that are wanted, or as many whole ones as there are, from `least_wanted`
-- on. With too few that come within `max_wait_ms`: tokens to come, for the caller to use from `wait_ms` on. Otherwise none, and
-- `wait_ms` says how long it would take. A caller that leaves `keep` tokens to others never reserves tokens to come.
create function stint.take_tokens(of_name text, of_key text, wanted double precision, least_wanted double precision,
                                  max_wait_ms double precision, keep double precision,
                                  out granted double precision, out wait_ms double precision, out per_ms double precision)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  rule    stint.rate;
  last    stint.rate_bucket;
  have    double precision;
  at_time timestamptz;
begin
  -- It does not wait for the disk: what a crash of the server forgets is some milliseconds of tokens, given once more.
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(stint.bucket_lock(of_name, of_key));
  select * into rule from stint.rate as r where r.name = of_name;
  if rule.name is null then
    raise exception 'no rate is named %', of_name using errcode = 'ST003';
  end if;
  select * into last from stint.rate_bucket as b where b.name = of_name and b.key = of_key order by b.seq desc limit 1;
  per_ms := stint.tokens_per_ms(rule.tokens, rule.period_ms, rule.override_tokens, rule.override_until);
  -- This statement may have begun before the last one, which waited for the lock: time does not go back.
  at_time := greatest(stint.now(), last.at);
  have := least(rule.burst, coalesce(last.tokens + extract(epoch from at_time - last.at) * 1000 * per_ms, rule.burst));
  if keep > 0 then
    max_wait_ms := 0;
  end if;
  granted := case when have - keep >= least_wanted then greatest(least_wanted, least(wanted, floor(have - keep)))
                  when (wanted - have) / per_ms <= max_wait_ms then wanted
                  else least_wanted end;
  wait_ms := greatest(0, (granted + keep - have) / per_ms, extract(epoch from last.blocked_until - at_time) * 1000);
  if wait_ms > max_wait_ms then
    granted := 0;
    return;
  end if;
  insert into stint.rate_bucket (name, key, seq, tokens, at, blocked_until)
  values (of_name, of_key, coalesce(last.seq, 0) + 1, have - granted, at_time, case when last.blocked_until > at_time then last.blocked_until end);
  delete from stint.rate_bucket as b where b.name = of_name and b.key = of_key and b.seq = last.seq;
end
$$;

-- Puts back tokens that were taken and not used (`given` above 0), takes more than was asked for (below 0), and closes a bucket
-- until a time: a provider answered 429.
create function stint.change_bucket(of_name text, of_key text, given double precision, blocked timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(stint.bucket_lock(of_name, of_key));
  with last as (
    select b.seq, b.tokens, b.at, b.blocked_until
      from stint.rate_bucket as b
     where b.name = of_name
       and b.key = of_key
     order by b.seq desc
     limit 1
  ), changed as (
    insert into stint.rate_bucket (name, key, seq, tokens, at, blocked_until)
    select of_name, of_key, coalesce(last.seq, 0) + 1, greatest(-1e9, least(r.burst, coalesce(last.tokens, r.burst) + given)),
           coalesce(last.at, stint.now()), greatest(last.blocked_until, blocked)
      from stint.rate as r
      left join last on true
     where r.name = of_name
    returning seq
  )
  delete from stint.rate_bucket as b using changed where b.name = of_name and b.key = of_key and b.seq = changed.seq - 1;
end
$$;
