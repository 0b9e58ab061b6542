-- stint.enqueue(): how triggers and other languages enqueue, with the checks that the library does in TypeScript.
--
-- Lock: none that matters; every object is new.
-- breaking: no

-- UUIDv7 as in RFC 9562: milliseconds first, so ids sort by time. PostgreSQL has its own function from version 18 on.
create function stint.uuid_v7() returns uuid
language sql volatile parallel safe
as $$
  select encode(
    set_bit(set_bit(                                       -- version 4, 0100, becomes 7, 0111
      overlay(
        uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        from 1 for 6),
      52, 1), 53, 1),
    'hex')::uuid
$$;

-- A duration as the library takes it, at most ten years: a number of milliseconds, or text. Here text is any interval.
create function stint.checked_ms(field text, value jsonb, low float8 default 1) returns float8
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  ms float8;
begin
  begin
    ms := case jsonb_typeof(value)
            when 'number' then value::text::float8
            when 'string' then extract(epoch from (value #>> '{}')::interval) * 1000
          end;
  exception when others then
    ms := null;
  end;
  if ms is null or ms < low or ms > 315576000000 then
    perform stint.refuse(field, format('to be an interval such as "30s" or a number of milliseconds, from %s ms to 10 years', low), value::text);
  end if;
  return ms;
end
$$;

create function stint.checked_text(field text, value jsonb, max_bytes integer) returns text
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'string' or octet_length(value #>> '{}') not between 1 and max_bytes then
    perform stint.refuse(field, format('to be a string of 1 to %s bytes', max_bytes), value::text);
  end if;
  return value #>> '{}';
end
$$;

create function stint.checked_integer(field text, value jsonb, low integer, high integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'number' or value::text !~ '^-?\d{1,9}$' or value::text::integer not between low and high then
    perform stint.refuse(field, format('to be an integer from %s to %s', low, high), value::text);
  end if;
  return value::text::integer;
end
$$;

-- A moment as ISO 8601 text: at most a minute ago and at most ten years ahead.
create function stint.checked_time(field text, value jsonb) returns timestamptz
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  moment timestamptz;
begin
  if jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$' then
    begin
      moment := (value #>> '{}')::timestamptz;
    exception when others then
      moment := null;
    end;
  end if;
  if moment is null or moment < stint.now() - interval '1 minute' or moment > stint.now() + interval '10 years' then
    perform stint.refuse(field, 'to be an ISO 8601 time with a zone, from now on, within 10 years', value::text);
  end if;
  return moment;
end
$$;

-- A deadline is a duration after run_at, or a moment.
create function stint.checked_deadline(value jsonb) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^\d{4}-\d\d-\d\dT' then
    return jsonb_build_object('deadlineAt', stint.checked_time('deadline', value));
  end if;
  return jsonb_build_object('deadlineMs', stint.checked_ms('deadline', value));
end
$$;

create function stint.checked_traceparent(value jsonb) returns text
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(value) <> 'string' or value #>> '{}' !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' then
    perform stint.refuse('traceparent', 'to be a W3C traceparent', value::text);
  end if;
  return value #>> '{}';
end
$$;

-- {"country": "BR", "age": 7} → ["age:7", "country:BR"]
create function stint.checked_search(search jsonb) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  token record;
begin
  if jsonb_typeof(search) <> 'object' or (select count(*) from jsonb_object_keys(search)) > 8 then
    perform stint.refuse('search', 'to be an object of at most 8 names', search::text);
  end if;
  for token in select e.key as name, e.value from jsonb_each(search) as e loop
    if token.name !~ '^[A-Za-z_][A-Za-z0-9_]{0,63}$' then
      perform stint.refuse('search', 'to have names of letters, digits and _', token.name);
    elsif jsonb_typeof(token.value) not in ('string', 'number', 'boolean')
       or octet_length(token.value #>> '{}') not between 1 and 256 then
      perform stint.refuse('search.' || token.name, 'to be a string, number or boolean of 1 to 256 bytes', token.value::text);
    end if;
  end loop;
  return (select coalesce(jsonb_agg(e.key || ':' || e.value order by e.key), '[]') from jsonb_each_text(search) as e);
end
$$;

create function stint.checked_unique(rule jsonb) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  checked jsonb := '{}';
  part    record;
begin
  if jsonb_typeof(rule) <> 'object' then
    perform stint.refuse('unique', 'to be an object such as {"key": "a", "until": "finished"}', rule::text);
  elsif rule ? 'until' and rule ? 'for' then
    perform stint.refuse('unique', 'to have until or for, not both', rule::text);
  end if;
  for part in select e.key as name, e.value from jsonb_each(rule) as e loop
    case part.name
      when 'key' then checked := checked || jsonb_build_object('key', stint.checked_text('unique.key', part.value, 512));
      when 'for' then checked := checked || jsonb_build_object('forMs', stint.checked_ms('unique.for', part.value));
      when 'until' then
        if part.value not in ('"started"', '"finished"') then
          perform stint.refuse('unique.until', 'to be "started" or "finished"', part.value::text);
        end if;
        checked := checked || jsonb_build_object('until', part.value);
      when 'onConflict' then
        if part.value not in ('"keep"', '"replace"', '"debounce"', '"error"') then
          perform stint.refuse('unique.onConflict', 'to be "keep", "replace", "debounce" or "error"', part.value::text);
        end if;
        checked := checked || jsonb_build_object('onConflict', part.value);
      else
        perform stint.refuse('unique', 'to hold only key, until, for and onConflict', part.name);
    end case;
  end loop;
  if not (checked ? 'until' or checked ? 'forMs') then
    checked := checked || '{"until": "finished"}';
  end if;
  return checked;
end
$$;

-- A job that starts in order needs a key, and has no time or priority of its own.
create function stint.checked_order(value jsonb, options jsonb) returns text
language plpgsql set search_path = pg_catalog, pg_temp
as $$
begin
  if value not in ('"hold"', '"pass"') then
    perform stint.refuse('order', 'to be "hold" or "pass"', value::text);
  elsif not options ? 'key' then
    perform stint.refuse('key', 'to be given with order', null);
  elsif options ?| array['runAt', 'delay', 'priority'] then
    perform stint.refuse('order', 'to be given without runAt, delay and priority', value::text);
  end if;
  return value #>> '{}';
end
$$;

-- Turns the arguments of stint.enqueue() into one job, or raises the error that names the field, the value and the way out.
create function stint.checked_job(queue text, kind text, input jsonb, options jsonb) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
  name_pattern constant text := '^[A-Za-z0-9_][A-Za-z0-9_.:/%-]{0,127}$';
  job    jsonb := jsonb_build_object('id', stint.uuid_v7(), 'queue', queue, 'kind', kind, 'input', input);
  option record;
begin
  options := jsonb_strip_nulls(options);
  if queue is null or queue !~ name_pattern then
    perform stint.refuse('queue', 'to match ' || name_pattern, queue);
  elsif kind is null or kind !~ name_pattern then
    perform stint.refuse('kind', 'to match ' || name_pattern, kind);
  elsif octet_length(input::text) > 262144 then
    perform stint.refuse('input', 'to be at most 256 KiB of JSON (store it elsewhere and pass a reference)',
      octet_length(input::text) || ' bytes');
  -- The root is level 0, so an array or object at level 100 is the 101st level. A scalar at level 100 is allowed.
  elsif jsonb_path_exists(input, 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') then
    perform stint.refuse('input', 'to be nested at most 100 levels deep', 'more');
  elsif jsonb_typeof(options) <> 'object' then
    perform stint.refuse('options', 'to be a JSON object', options::text);
  elsif options ? 'runAt' and options ? 'delay' then
    perform stint.refuse('options', 'to have runAt or delay, not both', options::text);
  end if;

  for option in select e.key as name, e.value from jsonb_each(options) as e loop
    job := job || case option.name
      when 'runAt' then jsonb_build_object('runAt', stint.checked_time('runAt', option.value))
      when 'delay' then jsonb_build_object('delayMs', stint.checked_ms('delay', option.value, 0))
      when 'priority' then jsonb_build_object('priority', stint.checked_integer('priority', option.value, -100, 100))
      when 'key' then jsonb_build_object('key', stint.checked_text('key', option.value, 512))
      when 'attempts' then jsonb_build_object('maxAttempts', stint.checked_integer('attempts', option.value, 1, 1000))
      when 'timeout' then jsonb_build_object('options', coalesce(job -> 'options', '{}')
        || jsonb_build_object('timeoutMs', stint.checked_ms('timeout', option.value)))
      when 'cost' then jsonb_build_object('options', coalesce(job -> 'options', '{}')
        || jsonb_build_object('cost', stint.checked_integer('cost', option.value, 1, 999999999)))
      when 'order' then jsonb_build_object('options', coalesce(job -> 'options', '{}')
        || jsonb_build_object('ordered', stint.checked_order(option.value, options)))
      when 'version' then jsonb_build_object('version', stint.checked_integer('version', option.value, 1, 32767))
      when 'deadline' then stint.checked_deadline(option.value)
      when 'correlationId' then jsonb_build_object('correlationId', stint.checked_text('correlationId', option.value, 256))
      when 'traceparent' then jsonb_build_object('traceparent', stint.checked_traceparent(option.value))
      when 'tracestate' then jsonb_build_object('tracestate', stint.checked_text('tracestate', option.value, 512))
      when 'idempotencyKey' then jsonb_build_object('idempotencyKey', stint.checked_text('idempotencyKey', option.value, 512))
      when 'idempotencyFor' then jsonb_build_object('idempotencyForMs', stint.checked_ms('idempotencyFor', option.value))
      when 'search' then jsonb_build_object('tokens', stint.checked_search(option.value))
      when 'unique' then jsonb_build_object('unique', stint.checked_unique(option.value))
    end;
    if job is null then
      perform stint.refuse('options', 'to hold only runAt, delay, priority, key, attempts, timeout, version, deadline, cost, order, '
        'correlationId, traceparent, tracestate, search, unique, idempotencyKey and idempotencyFor', option.name);
    end if;
  end loop;
  if (job ->> 'deadlineAt')::timestamptz < (job ->> 'runAt')::timestamptz then
    perform stint.refuse('deadline', 'to be later than runAt', job ->> 'deadlineAt');
  end if;
  return job;
end
$$;

-- Enqueues a job from SQL, with the same checks and the same meaning as enqueue() of the library.
--
--   select * from stint.enqueue('media', 'image.resize', '{"imageId": "a1"}', '{"delay": "5m", "priority": 3}')
--
-- Options: runAt, delay, priority, key, attempts, timeout, version, deadline, cost (tokens of its rates), order ("hold" or
-- "pass", as `order` and `hold` of a contract), correlationId, traceparent, tracestate, search (an object), unique ({key?, until: "started" | "finished", for, onConflict: "keep" | "replace" | "debounce" |
-- "error"}), idempotencyKey, idempotencyFor. Durations are intervals ("30s", "2 hours") or numbers of milliseconds.
-- Errors: 22023 for a bad argument, ST001 when onConflict is "error" and a job is in the way, ST002 when the
-- idempotency key was used with another input, ST005 when the queue is full, ST006 when it is closed.
create function stint.enqueue(
  queue text, kind text, input jsonb default 'null', options jsonb default '{}',
  out id uuid, out duplicate boolean, out replaced boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
  job jsonb;
  placed record;
begin
  job := stint.checked_job(enqueue.queue, enqueue.kind, coalesce(enqueue.input, 'null'), coalesce(options, '{}'));
  perform stint.refuse_when_full(enqueue.queue, coalesce((job ->> 'priority')::float8, 0), job ->> 'key');
  placed := stint.enqueue_one(job, false);
  if placed.outcome = 'conflict' then
    raise exception 'Job % already stands for this unique key', placed.job_id
      using errcode = 'ST001', detail = placed.job_id::text, hint = 'Use onConflict "keep" to accept the job that is there.';
  elsif placed.outcome = 'mismatch' then
    raise exception 'The idempotency key "%" was used with another input, by job %', options ->> 'idempotencyKey', placed.job_id
      using errcode = 'ST002', detail = placed.job_id::text, hint = 'Use another key for another intent.';
  end if;
  id := placed.job_id;
  duplicate := placed.outcome <> 'stored';
  replaced := placed.outcome = 'replaced';
end
$$;
