-- What upkeep needs: who does it, how each service fares, how long a queue's jobs are kept, and the functions that take
-- history away. They run with their owner's rights and decide by themselves what is old: whoever may call them can only
-- say "now".
--
-- Lock: share update exclusive on job, worker, dead, idempotency_key and effect for a moment, to set how they are
-- vacuumed. Three indexes of dead letters are built under a lock that keeps writers out of `dead` meanwhile: milliseconds
-- for thousands of them.
-- breaking: no

-- Settings of a queue; one without a row has the defaults. Nobody has to have heard of the queue.
create table stint.queue (
  name            text collate "C" not null,
  keep_finished   interval,                                         -- null: as long as by default
  keep_dead       interval,                                         -- null: for ever
  updated_at      timestamptz     not null default stint.now(),
  constraint queue_pkey primary key (name),
  constraint queue_keeps check (keep_finished >= interval '0' and keep_dead >= interval '0')
);

-- Who does the work that one process can do for all. It saves work and decides nothing: whatever is done under it may
-- be done by two at once.
create table stint.leader (
  name            text collate "C" not null,
  holder          uuid,                                             -- a worker; null: nobody, and anybody may
  term            bigint          not null,                         -- grows with every change
  since           timestamptz     not null default stint.now(),
  until           timestamptz     not null,
  about           jsonb           not null default '{}',            -- host, pid
  constraint leader_pkey primary key (name)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);

-- How each service under a leader fares, for people.
create table stint.service (
  name            text collate "C" not null,
  last_ok_at      timestamptz,
  took_ms         integer,                                          -- the last time it went well
  last_error      text,                                             -- null once it went well again
  last_error_at   timestamptz,
  constraint service_pkey primary key (name)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);

-- What is to go is found by these, not by reading every dead letter. An edited one is known to be old by the id of the
-- job that it became, which says when that was made.
create index dead_died on stint.dead (queue, died_at);
create index dead_discarded on stint.dead (discarded_at) where discarded_at is not null;
create index dead_replaced on stint.dead (replaced_by) where replaced_by is not null;

-- The hot table: every job leaves at least three dead rows here, and a claim steps over those that are left of its
-- queue's head. By default a table of 100,000 jobs waits for 20,000 dead rows, and then vacuums with pauses; this one is
-- small and in memory, so it is done early and without.
alter table stint.job set (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
-- A handful of rows, each rewritten by every heartbeat. Left to a share of so few rows plus 50 it would be fine, but not
-- where 1,000 workers are: all of them are read by each burial.
alter table stint.worker set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
-- These shrink by batches of upkeep and are read by people or by every enqueue with a key, in the meantime too.
alter table stint.dead set (autovacuum_vacuum_scale_factor = 0.05);
alter table stint.idempotency_key set (autovacuum_vacuum_scale_factor = 0.05);
alter table stint.effect set (autovacuum_vacuum_scale_factor = 0.05);

-- How long finished jobs are kept where their queue does not say.
create function stint.kept_by_default() returns interval
language sql immutable parallel safe
as $$ select interval '7 days' $$;

-- When an id of ours was made: a UUIDv7 says so, in milliseconds.
create function stint.made_at(id uuid) returns timestamptz
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$ select to_timestamp(('x' || substr(translate(id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0) $$;

-- History from before this is nobody's any more: the longest that any queue keeps, and the default.
create function stint.history_start() returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select stint.now() - greatest(stint.kept_by_default(), (select max(keep_finished) from stint.queue))
$$;

-- Makes the partitions of `finished`, `attempt` and `log` for yesterday to `days` ahead. Safe to call from many
-- sessions at once: they take turns, and one that exists is left alone.
--
-- Made beside the table and attached: `create table … partition of` would lock the whole of it exclusively, so that
-- behind one long reader every settle would wait.
create or replace function stint.ensure_partitions(days integer default 14) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  made integer := 0;
  parent text;
  day date;
  name text;
begin
  perform pg_advisory_xact_lock(hashtextextended('stint.ensure_partitions', 0));
  foreach parent in array array['finished', 'attempt', 'log'] loop
    for ahead in -1 .. days loop
      day := (stint.now() at time zone 'utc')::date + ahead;
      name := parent || '_' || to_char(day, 'YYYYMMDD');
      continue when to_regclass('stint.' || name) is not null;
      execute format('create table stint.%I (like stint.%I including all)', name, parent);
      execute format(
        'alter table stint.%I attach partition stint.%I for values from (%L) to (%L)',
        parent, name, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
      made := made + 1;
    end loop;
  end loop;
  return made;
end
$$;

-- The days of history that nobody needs any more, oldest first. Of those that are detached only the ones that upkeep
-- itself has marked: another may be somebody's archive.
create function stint.old_days()
returns table (parent text, day_table text, is_attached boolean, is_pending boolean, is_ours boolean)
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select split_part(relname, '_', 1), relname::text,
         inhrelid is not null, coalesce(inhdetachpending, false), pg_has_role(relowner, 'usage')
    from pg_class
    left join pg_inherits on inhrelid = pg_class.oid
   where relnamespace = (select relnamespace from pg_class where oid = 'stint.job'::regclass)
     and relkind = 'r'
     and relname ~ '^(finished|attempt|log)_[0-9]{8}$'
     and (inhrelid is not null or obj_description(pg_class.oid, 'pg_class') = 'to be dropped by Stint')
     and (to_date(right(relname, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'utc' <= stint.history_start()
   order by right(relname, 8), relname
$$;

-- Drops one of the old days. Where it is still attached that locks the whole table, so it gives up soon: whoever settles
-- waits behind it for that long at most.
create function stint.drop_day(old_table text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms'
as $$
begin
  if not exists (select from stint.old_days() where day_table = old_table) then
    return false;
  end if;
  execute format('drop table if exists stint.%I', old_table);
  return true;
end
$$;

-- Removes from some pages of a day the finished jobs of queues that keep theirs for `kept`, where that is over: at most
-- `most` of them, with their attempts and log lines.
--
-- By pages, for there is no index to find them by: one on the time or the queue would cost every settle. A day is filled
-- in the order of time, so whoever calls goes on from where jobs are that are not old enough yet (`is_held`).
--
-- Five minutes are the least: so long after the end of a job it may be asked whether it was settled, or stored.
create function stint.prune_day(day_table text, kept interval, from_page bigint, pages integer, most integer,
                                out removed integer, out is_held boolean, out is_end boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  day_oid oid := (select inhrelid
                    from pg_inherits
                   where inhparent = 'stint.finished'::regclass
                     and inhrelid = to_regclass('stint.' || quote_ident(day_table)));
  -- Those that keep for another time; of the rest, those that say so or, by default, say nothing.
  others text[] := array(select name from stint.queue where keep_finished <> kept);
  named text[] := array(select name from stint.queue where keep_finished = kept);
  is_default boolean := kept = stint.kept_by_default();
  before timestamptz := stint.now() - greatest(kept, interval '5 minutes');
begin
  removed := 0;
  is_held := false;
  is_end := true;
  if day_oid is null then
    return;
  end if;
  -- Asked first: what is written meanwhile is looked at by the next one.
  is_end := (from_page + pages) * current_setting('block_size')::bigint >= pg_relation_size(day_oid);
  execute format($q$
    with gone as (
      delete from stint.%1$I
       where ctid = any(array(
               select ctid
                 from stint.%1$I
                where ctid >= %2$L::tid
                  and ctid < %3$L::tid
                  and (queue = any($1) or $2 and queue <> all($3))
                  and finished_at < $4
                limit $5))
      returning id, created_at
    ), without_attempts as (
      delete from stint.attempt
       where job_id = any(array(select id from gone))
         and ended_at >= (select min(created_at) from gone)
    ), without_lines as (
      delete from stint.log
       where job_id = any(array(select id from gone))
         and at >= (select min(created_at) from gone)
    )
    select (select count(*) from gone),
           exists (select
                     from stint.%1$I
                    where ctid >= %2$L::tid
                      and ctid < %3$L::tid
                      and (queue = any($1) or $2 and queue <> all($3))
                      and finished_at >= $4)$q$,
    day_table, format('(%s,0)', from_page), format('(%s,0)', from_page + pages))
    into removed, is_held
    using named, is_default, others, before, most;
end
$$;
