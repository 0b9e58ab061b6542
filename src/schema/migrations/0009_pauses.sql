-- What people and code say about a queue: whether it is paused, takes new jobs, and how full it may get.
--
-- Lock: ACCESS EXCLUSIVE on stint.queue for a moment; the columns are added without a rewrite.
-- breaking: no

alter table stint.queue
  add column is_limited   boolean not null default false,           -- only claim_limited() may take its jobs
  add column paused_at    timestamptz,
  add column paused_until timestamptz,                              -- infinity: until it is resumed; null: not paused
  add column paused_by    text,
  add column pause_reason text,
  add column takes_jobs   boolean not null default true,            -- false: it drains, and enqueues are refused
  add column pressure     jsonb,                                    -- { maxDepth, maxAgeMs, keyMaxDepth, whenFull }
  add column retry_budget jsonb,                                    -- { share, least, windowMs }
  add column concurrency        integer,                            -- in each worker, instead of that in its code
  add column concurrency_until  timestamptz,
  add column concurrency_reason text,
  add constraint queue_concurrency check (concurrency between 1 and 10000 and octet_length(concurrency_reason) <= 2000),
  add constraint queue_pause_texts check (octet_length(paused_by) <= 512 and octet_length(pause_reason) <= 4000);

-- A pause of one kind or one key of a queue; '' stands for all.
create table stint.pause (
  queue           text collate "C" not null,
  kind            text collate "C" not null default '',
  key             text collate "C" not null default '',
  paused_at       timestamptz     not null default stint.now(),
  paused_until    timestamptz     not null default 'infinity',
  paused_by       text            not null,
  reason          text,
  constraint pause_pkey primary key (queue, kind, key),
  constraint pause_names check (octet_length(queue) between 1 and 128 and octet_length(kind) <= 128 and octet_length(key) <= 512),
  constraint pause_of_one check ((kind = '') <> (key = '')),
  constraint pause_texts check (octet_length(paused_by) <= 512 and octet_length(reason) <= 4000)
);

-- Whether a claim may take jobs of a queue without limits. Every plain claim asks this of its own snapshot, so a pause holds
-- from its commit on, and no limit can be passed by, however long ago a worker read the rules.
create function stint.is_open(of_queue text) returns boolean
language sql stable parallel safe
as $$
  select not exists (select
                       from stint.queue
                      where queue.name = of_queue
                        and (queue.is_limited or queue.paused_until > stint.now()))
$$;
