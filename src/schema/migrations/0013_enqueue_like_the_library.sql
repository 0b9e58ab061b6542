-- stint.enqueue() takes and refuses what enqueue() of the library does: search tokens that are numbers or booleans, a
-- deadline that is a moment, and no input that is nested deeper than 100 levels.
--
-- Lock: none that matters; functions are replaced.
-- breaking: no

-- {"country": "BR", "age": 7} → ["age:7", "country:BR"]
create or replace function stint.checked_search(search jsonb) returns jsonb
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

-- How long after it is due, or a moment.
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

create or replace function stint.checked_job(queue text, kind text, input jsonb, options jsonb) returns jsonb
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
  -- The root is level 0, so an array or object at level 100 is the 101st around one another. Scalars there may be.
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
      when 'timeout' then jsonb_build_object('options', jsonb_build_object('timeoutMs', stint.checked_ms('timeout', option.value)))
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
      perform stint.refuse('options', 'to hold only runAt, delay, priority, key, attempts, timeout, version, deadline, '
        'correlationId, traceparent, tracestate, search, unique, idempotencyKey and idempotencyFor', option.name);
    end if;
  end loop;
  if (job ->> 'deadlineAt')::timestamptz < (job ->> 'runAt')::timestamptz then
    perform stint.refuse('deadline', 'to be later than runAt', job ->> 'deadlineAt');
  end if;
  return job;
end
$$;
