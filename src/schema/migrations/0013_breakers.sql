-- Breakers: while a downstream fails, the jobs that need it stay ready and burn no attempt.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- Changes when its state does, and by people: never per job.
create table stint.breaker (
  name            text collate "C" not null,
  window_ms       double precision not null,                        -- outcomes of this last span decide
  share           double precision not null,                        -- it opens at this share of failures
  least           integer         not null,                         -- … of at least this many outcomes
  open_ms         double precision not null,                        -- the first time; it doubles up to most_open_ms
  most_open_ms    double precision not null,
  probes          integer         not null,                         -- jobs that a half-open breaker lets through
  counts          text[]          not null,                         -- the classes of failures that count
  source          text            not null default 'code',
  updated_at      timestamptz     not null default stint.now(),
  state           text            not null default 'closed',
  since           timestamptz     not null default stint.now(),
  opens           integer         not null default 0,               -- how often it opened in a row
  changes         bigint          not null default 0,               -- how often its state changed
  cause           jsonb,                                            -- { failed, of, error, fingerprint }
  probe_at        timestamptz,                                      -- while it is open: when it may be probed
  probe_by        uuid,                                             -- while it is half-open: the process that probes it
  probe_until     timestamptz,                                      -- … under a lease: then another process may
  probed          integer         not null default 0,               -- probes that succeeded since it is half-open
  forced_until    timestamptz,                                      -- a person set the state, until then
  forced_by       text,
  forced_reason   text,
  constraint breaker_pkey primary key (name),
  constraint breaker_name check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'),
  constraint breaker_in_bounds check (window_ms between 1000 and 86400000 and share > 0 and share <= 1 and least between 1 and 1000000
                                      and open_ms between 100 and 86400000 and most_open_ms between open_ms and 86400000
                                      and probes between 1 and 1000 and opens between 0 and 1000000 and probed between 0 and 1000000
                                      and changes between 0 and 1000000000000000 and cardinality(counts) <= 20),
  constraint breaker_state check (state in ('closed', 'open', 'half-open')),
  constraint breaker_source check (source in ('code', 'runtime')),
  constraint breaker_texts check (octet_length(forced_by) <= 512 and octet_length(forced_reason) <= 4000
                                  and octet_length(cause::text) <= 20000)
);

-- Totals of a slot of time, each row written by one process only.
create table stint.breaker_count (
  name            text collate "C" not null,
  slot            timestamptz     not null,
  process         uuid            not null,
  flush           integer         not null,
  ok              bigint          not null,
  failed          bigint          not null,
  constraint breaker_count_pkey primary key (name, slot, process),
  constraint breaker_count_in_bounds check (ok between 0 and 1000000000 and failed between 0 and 1000000000)
) with (fillfactor = 80);

-- Every change of a breaker's state, with its cause; kept for 30 days.
create table stint.breaker_change (
  name            text collate "C" not null,
  at              timestamptz     not null default stint.now(),
  was             text            not null,
  state           text            not null,
  cause           jsonb,
  by              text,                                             -- a person, or null
  reason          text,
  constraint breaker_change_states check (was in ('closed', 'open', 'half-open') and state in ('closed', 'open', 'half-open')),
  constraint breaker_change_texts check (octet_length(name) <= 128 and octet_length(by) <= 512 and octet_length(reason) <= 4000
                                         and octet_length(cause::text) <= 20000)
);

create index breaker_change_name on stint.breaker_change (name, at);

-- What a worker of these queues must know before it claims, and what `why` tells people: one row for each queue with anything
-- set. Times are milliseconds from now; -1 stands for "until someone ends it". `pauseEndsInMs` is when the next pause ends.
create function stint.queue_rules(of_queues text[]) returns table (queue text, rules jsonb)
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return query
  select served.name,
         jsonb_strip_nulls(jsonb_build_object(
           'isLimited', nullif(set_for.is_limited, false),
           'pausedForMs', case when set_for.paused_until = 'infinity' then -1
                               when set_for.paused_until > stint.now()
                               then extract(epoch from least(set_for.paused_until, stint.now() + interval '1 day') - stint.now()) * 1000 end,
           'pausedKinds', (select jsonb_agg(paused.kind)
                             from (select pause.kind
                                     from stint.pause
                                    where pause.queue = served.name and pause.kind <> '' and pause.paused_until > stint.now()
                                    order by pause.kind
                                    limit 1000) as paused),
           'pausedKeys', (select jsonb_agg(paused.key)
                            from (select pause.key
                                    from stint.pause
                                   where pause.queue = served.name and pause.kind = '' and pause.key <> ''
                                     and pause.paused_until > stint.now()
                                   order by pause.key
                                   limit 1000) as paused),
           'pauseEndsInMs', (select extract(epoch from least(min(ending.paused_until), stint.now() + interval '1 day') - stint.now()) * 1000
                               from (select set_for.paused_until
                                     union all
                                     (select pause.paused_until
                                        from stint.pause
                                       where pause.queue = served.name
                                       order by pause.kind, pause.key
                                       limit 2000)) as ending
                              where ending.paused_until > stint.now()
                                and ending.paused_until < 'infinity'),
           -- Bounded: it is read every second. A key with two weights has the higher one.
           'keyWeights', (select jsonb_object_agg(weighed.key, weighed.weight)
                            from (select own.key, max(own.weight) as weight
                                    from stint.limit_cover as cover
                                    join stint.limit_key as own on own.name = cover.name
                                   where cover.queue = served.name and cover.type = 'concurrency'
                                     and own.weight is not null and own.until > stint.now()
                                   group by own.key
                                   order by own.key
                                   limit 1000) as weighed),
           'breakers', (select jsonb_agg(jsonb_build_object(
                                 'name', breaker.name, 'kinds', cover.kinds, 'state', breaker.state, 'counts', breaker.counts, 'probeBy', breaker.probe_by,
                                 'isForced', coalesce(breaker.forced_until > stint.now(), false),
                                 'probeInMs', extract(epoch from greatest(least(coalesce(breaker.probe_at, breaker.probe_until),
                                                                                stint.now() + interval '1 day'), stint.now()) - stint.now()) * 1000))
                          from stint.limit_cover as cover
                          join stint.breaker on breaker.name = cover.name
                         where cover.queue = served.name and cover.type = 'breaker' and breaker.state <> 'closed'),
           'retryBudget', set_for.retry_budget,
           'concurrency', case when set_for.concurrency_until > stint.now() then set_for.concurrency end))
    from unnest(of_queues) as served (name)
    left join stint.queue as set_for on set_for.name = served.name;
end
$$;
