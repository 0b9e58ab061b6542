-- Rates: token buckets that jobs, handlers and web requests share.
--
-- take_tokens(), change_bucket() and closed_ms() run with the rights of their owner: a producer takes tokens without a right to
-- the tables.
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
  taken           double precision not null default 0,              -- of buckets that were pruned; so is refused
  refused         double precision not null default 0,
  constraint rate_pkey primary key (name),
  constraint rate_name check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'),
  constraint rate_in_bounds check (tokens between 1e-3 and 1e9 and period_ms between 1 and 315576000000
                                   and burst between 1 and 1e9 and keep >= 0 and keep <= burst
                                   and override_tokens between 1e-3 and 1e9 and taken between 0 and 1e300 and refused between 0 and 1e300),
  constraint rate_source check (source in ('code', 'runtime')),
  constraint rate_texts check (octet_length(override_by) <= 512 and octet_length(override_reason) <= 2000)
);

-- The level of each bucket. Append-only: the newest row counts and is found first, while a row that is updated lies behind all
-- its dead versions when a session holds an old snapshot.
create table stint.rate_bucket (
  name            text collate "C" not null,
  key             text collate "C" not null default '',
  seq             bigint          not null,
  tokens          double precision not null,                        -- below zero: promised ahead of time
  at              timestamptz     not null,                         -- when it had these; ahead of now while the bucket is closed
  blocked_until   timestamptz,
  taken           double precision not null default 0,              -- tokens in all, for metrics
  refused         double precision not null default 0,              -- takers that got none
  constraint rate_bucket_pkey primary key (name, key, seq),
  constraint rate_bucket_in_bounds check (octet_length(name) <= 128 and octet_length(key) <= 512 and tokens between -1e9 and 1e9
                                          and seq between 0 and 8999999999999999999
                                          and at between '1970-01-01Z' and '9999-01-01Z'
                                          and blocked_until between '1970-01-01Z' and '9999-01-01Z'
                                          and taken between 0 and 1e300 and refused between 0 and 1e300)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);

-- The lock of a bucket. The buckets of one rate by key share 32 locks, so that a claim of many keys takes few.
create function stint.bucket_lock(of_name text, of_key text) returns bigint
language sql immutable parallel safe
as $$
  select hashtextextended('stint.rate_bucket ' || of_name || ' ' || case when of_key = '' then 0 else hashtext(of_key) & 31 end, 0)
$$;

-- How many tokens a rate gives in a millisecond, as it is now. Within the bounds of the table: all others divide by it.
create function stint.tokens_per_ms(tokens double precision, period_ms double precision, override_tokens double precision,
                                    override_until timestamptz) returns double precision
language sql stable parallel safe
as $$
  select greatest(1e-3, least(1e9, case when override_until > stint.now() then coalesce(override_tokens, tokens) else tokens end))
           / greatest(1, least(315576000000, period_ms))
$$;

-- The number of a bucket's next row. It begins again where another role has written the highest one.
create function stint.next_seq(seq bigint) returns bigint
language sql immutable parallel safe
as $$
  select (coalesce(seq, 0) + 1) % 9000000000000000000
$$;

-- Takes tokens of a bucket. With enough tokens: all that are wanted, or as many whole ones as there are, from `least_wanted`
-- on. With too few that come within `max_wait_ms`: tokens to come, for the caller to use from `wait_ms` on. Otherwise none, and
-- `wait_ms` says how long it would take. More than a full bucket can never be taken: `wait_ms` is null.
--
-- A job leaves `keep` tokens to other takers, and then reserves none to come: it asks again. A rate that is not by key has one
-- bucket for all keys. `more_refused` takers were refused by the caller itself since its last call.
create function stint.take_tokens(of_name text, of_key text, wanted double precision, least_wanted double precision,
                                  max_wait_ms double precision, for_job boolean, more_refused integer,
                                  out granted double precision, out wait_ms double precision, out closed_ms double precision,
                                  out per_ms double precision, out most double precision, out by_key boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  rule    stint.rate;
  last    stint.rate_bucket;
  have    double precision;
  keep    double precision;
  at_time timestamptz;
begin
  if (least_wanted >= 1 and wanted between least_wanted and 1e9 and max_wait_ms between 0 and 86400000
      and more_refused >= 0 and for_job is not null) is not true then
    raise exception 'tokens, times and counts must be positive and in bounds' using errcode = '22023';
  end if;
  select * into rule from stint.rate as r where r.name = of_name;
  if rule.name is null then
    raise exception 'no rate is named %', of_name using errcode = 'ST003';
  end if;
  by_key := rule.by_key;
  of_key := case when by_key then of_key else '' end;
  keep := case when for_job then rule.keep else 0 end;
  most := rule.burst - keep;
  per_ms := stint.tokens_per_ms(rule.tokens, rule.period_ms, rule.override_tokens, rule.override_until);
  granted := 0;
  closed_ms := 0;
  if least_wanted > most then
    return;
  end if;
  -- It does not wait for the disk: what a crash of the server forgets is some milliseconds of tokens, given once more.
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(stint.bucket_lock(of_name, of_key));
  select * into last from stint.rate_bucket as b where b.name = of_name and b.key = of_key order by b.seq desc limit 1;
  -- This statement may have begun before the last one, which waited for the lock: time does not go back.
  at_time := greatest(stint.now(), last.at);
  have := least(rule.burst, coalesce(last.tokens + extract(epoch from at_time - last.at) * 1000 * per_ms, rule.burst));
  closed_ms := greatest(0, extract(epoch from last.blocked_until - stint.now()) * 1000);
  max_wait_ms := case when keep > 0 then 0 else max_wait_ms end;
  granted := case when have - keep >= least_wanted then greatest(least_wanted, least(wanted, floor(have - keep)))
                  when closed_ms + (wanted - have) / per_ms <= max_wait_ms then wanted
                  else least_wanted end;
  wait_ms := closed_ms + greatest(0, (granted + keep - have) / per_ms);
  if wait_ms > max_wait_ms then
    granted := 0;
    return;
  end if;
  insert into stint.rate_bucket (name, key, seq, tokens, at, blocked_until, taken, refused)
  values (of_name, of_key, stint.next_seq(last.seq), greatest(-1e9, have - granted), at_time,
          case when closed_ms > 0 then last.blocked_until end,
          coalesce(last.taken, 0) + granted, coalesce(last.refused, 0) + more_refused);
  delete from stint.rate_bucket as b where b.name = of_name and b.key = of_key and b.seq = last.seq;
end
$$;

-- Puts back tokens that were taken and not used (`given` above 0), or takes those that were used and not taken (below 0); and
-- closes a bucket for `close_ms`: a provider answered 429. A closed bucket gets no tokens: where it went on to fill, all that
-- wait would begin at once when it opens. Neither can close a bucket for more than a day.
create function stint.change_bucket(of_name text, of_key text, given double precision, close_ms double precision) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  rule    stint.rate;
  last    stint.rate_bucket;
  per_ms  double precision;
  have    double precision;
  at_time timestamptz;
  closed  timestamptz;
begin
  if (given between -1e9 and 1e9 and close_ms between 0 and 86400000) is not true then
    raise exception 'tokens and times must be in bounds' using errcode = '22023';
  end if;
  select * into rule from stint.rate as r where r.name = of_name;
  if rule.name is null then
    raise exception 'no rate is named %', of_name using errcode = 'ST003';
  end if;
  of_key := case when rule.by_key then of_key else '' end;
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(stint.bucket_lock(of_name, of_key));
  select * into last from stint.rate_bucket as b where b.name = of_name and b.key = of_key order by b.seq desc limit 1;
  per_ms := stint.tokens_per_ms(rule.tokens, rule.period_ms, rule.override_tokens, rule.override_until);
  at_time := greatest(stint.now(), last.at);
  have := least(rule.burst, coalesce(last.tokens + extract(epoch from at_time - last.at) * 1000 * per_ms, rule.burst));
  closed := greatest(case when last.blocked_until > stint.now() then last.blocked_until end,
                     case when close_ms > 0 then stint.now() + close_ms * interval '1 ms' end);
  insert into stint.rate_bucket (name, key, seq, tokens, at, blocked_until, taken, refused)
  values (of_name, of_key, stint.next_seq(last.seq),
          greatest(-1e9, least(have, -86400000 * per_ms), least(rule.burst, have + given)), greatest(at_time, closed), closed,
          greatest(0, coalesce(last.taken, 0) - given), coalesce(last.refused, 0));
  delete from stint.rate_bucket as b where b.name = of_name and b.key = of_key and b.seq = last.seq;
end
$$;

-- How much longer a bucket stays closed. Takers that were promised tokens ask before they use them.
create function stint.closed_ms(of_name text, of_key text) returns double precision
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$
  select greatest(0, extract(epoch from last.blocked_until - stint.now()) * 1000)::double precision
    from stint.rate
   cross join lateral (
           select bucket.blocked_until
             from stint.rate_bucket as bucket
            where bucket.name = rate.name
              and bucket.key = case when rate.by_key then of_key else '' end
            order by bucket.seq desc
            limit 1) as last
   where rate.name = of_name
$$;
