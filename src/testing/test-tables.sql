-- What a test database has beyond the schema of Stint: a clock that a test can move, and the record of what was
-- enqueued. In a schema of their own, so that nothing that looks at Stint's schema sees them.

create schema stint_test;
grant usage on schema stint_test to public;

-- One row. Null until testStint() sets it: then the time of the server.
create table stint_test.clock (at timestamptz);
insert into stint_test.clock values (null);
grant select on stint_test.clock to public;

create or replace function stint.now()
returns timestamptz
language sql stable parallel safe
as $$ select coalesce((select at from stint_test.clock), statement_timestamp()) $$;

-- A record, and not a query of the jobs: retention removes ended jobs once a test has moved the clock far enough.
create table stint_test.enqueued (
  seq       bigint generated always as identity primary key,
  id        uuid not null unique,
  kind      text not null,
  queue     text not null,
  key       text,
  priority  integer not null,
  input     jsonb,
  run_at    timestamptz not null,
  parent_id uuid
);

create function stint_test.record_enqueued()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog
as $$
begin
  insert into stint_test.enqueued (id, kind, queue, key, priority, input, run_at, parent_id)
  select id, kind, queue, key, priority, input, run_at, parent_id
    from added
   order by id
  -- A dead letter that is replayed comes back under its own id: it was enqueued before.
  on conflict (id) do nothing;
  return null;
end
$$;

create trigger test_record_enqueued
after insert on stint.job
referencing new table as added
for each statement execute function stint_test.record_enqueued();
