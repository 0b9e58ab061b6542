-- History: how long it is kept, and the functions that make and remove its days.
--
-- The functions run with the rights of their owner and decide by themselves what is old: a caller can only say "now".
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- Settings of a queue. A queue without a row has the defaults, and a row may name a queue that has no jobs.
create table stint.queue (
  name            text collate "C" not null,
  keep_finished   interval,                                         -- null: the default
  keep_dead       interval,                                         -- null: for ever
  updated_at      timestamptz     not null default stint.now(),
  constraint queue_pkey primary key (name),
  constraint queue_name check (octet_length(name) <= 128 and name ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]*$'),
  constraint queue_keeps check (keep_finished >= interval '0' and keep_dead >= interval '0'),
  -- An interval so long that now minus it is no timestamp would stop the upkeep of all queues.
  constraint queue_in_bounds check (keep_finished <= interval '3660 days' and keep_dead <= interval '3660 days')
);

-- How long finished jobs are kept where their queue has no setting.
create function stint.kept_by_default() returns interval
language sql immutable parallel safe
as $$ select interval '7 days' $$;

-- When an id was made: a UUIDv7 contains it, in milliseconds.
create function stint.made_at(id uuid) returns timestamptz
language sql immutable parallel safe set search_path = pg_catalog, pg_temp
as $$ select to_timestamp(('x' || substr(translate(id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0) $$;

-- History from before this is not needed: the longest time that any queue keeps, or the default. Bounded, so that no
-- setting of one queue can stop the upkeep of all.
create function stint.history_start() returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp
as $$
  select stint.now() - least(greatest(stint.kept_by_default(), (select max(keep_finished) from stint.queue)), interval '36525 days')
$$;

-- Makes the partitions of `finished`, `attempt` and `log` for yesterday to `days` ahead, at most 60. Safe to call from many
-- sessions at once: they take turns, and a partition that exists is left alone.
--
-- A partition is made as a table and then attached. `create table … partition of` would lock the parent exclusively, and
-- behind one long reader every settle would wait.
create function stint.ensure_partitions(days integer default 14) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  made integer := 0;
  parent text;
  day date;
  name text;
begin
  if days is null or days not between 0 and 60 then
    raise exception 'stint.ensure_partitions: expected days to be an integer from 0 to 60, got %', coalesce(days::text, 'null')
      using errcode = 'invalid_parameter_value', column = 'days';
  end if;
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

select stint.ensure_partitions();

-- The days of history that are not needed any more, oldest first. Of the detached ones only those that upkeep has marked:
-- another detached table may be a user's archive.
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

-- Drops one of the old days. Dropping an attached partition locks the parent exclusively, so it gives up after 200 ms: a
-- settle waits behind it for that long at most.
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

-- Removes finished jobs of the queues that keep theirs for `kept` from some pages of a day, where that time is over: at most
-- `most` jobs, with their attempts and log lines.
--
-- It reads pages, because there is no index to find the jobs by: one on the time or the queue would cost every settle. A day
-- is filled in the order of time, so the caller continues at the first page with jobs that are not old enough (`is_held`).
--
-- Five minutes is the minimum: for so long after a job ended, a client may ask whether it was settled, or stored.
create function stint.prune_day(day_table text, kept interval, from_page bigint, pages integer, most integer,
                                out removed integer, out is_held boolean, out is_end boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  day_oid oid := (select inhrelid
                    from pg_inherits
                   where inhparent = 'stint.finished'::regclass
                     and inhrelid = to_regclass('stint.' || quote_ident(day_table)));
  -- `kept` covers the queues with this setting and, where it is the default, all queues without a setting.
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
  -- The size is read first: the next call looks at rows that are written meanwhile.
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
