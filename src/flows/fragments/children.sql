-- Store jobs as children of "parent"; :groups is as in jobs/enqueue.sql, with the place of each job in the set.
child as (
  insert into stint.job (
    id, state, queue, kind, key, priority, run_at, max_attempts, version,
    correlation_id, traceparent, tracestate, parent_id, flow_id, node, member, deadline_at, search, options, input, input_blob)
  select job.id,
         case when due.at > stint.now() then 'scheduled' else 'ready' end::stint.job_state,
         g.queue, g.kind, g.key, g.priority, due.at, g."maxAttempts", g.version,
         g."correlationId", g.traceparent, g.tracestate, parent.id, :flow::uuid, 0, job.place,
         coalesce(g."deadlineAt", due.at + g."deadlineMs" * interval '1 millisecond'),
         g.tokens, g.options, case when g."inputBlob" is null then job.input end, g."inputBlob"
    from parent
   cross join jsonb_to_recordset(:groups::text::jsonb) as g (
           queue text, kind text, key text, priority smallint, "runAt" timestamptz, "delayMs" float8,
           "maxAttempts" integer, version smallint, "correlationId" text, traceparent text, tracestate text,
           "deadlineAt" timestamptz, "deadlineMs" float8, tokens text[], options jsonb,
           ids uuid[], places integer[], inputs jsonb, "inputBlob" text)
   cross join lateral (
           select coalesce(g."runAt", stint.now() + g."delayMs" * interval '1 millisecond', stint.now()) as at) as due
   cross join lateral rows from (unnest(g.ids), unnest(g.places), jsonb_array_elements(g.inputs)) as job (id, place, input)
), blob as (
  insert into stint.blob (key, job_id)
  select g."inputBlob", g.ids[1]
    from parent
   cross join jsonb_to_recordset(:groups::text::jsonb) as g (ids uuid[], "inputBlob" text)
   where g."inputBlob" is not null
      on conflict do nothing
)
