-- The columns that a list shows of a job. A text that is far longer than any that Stint stores is cut: a page with
-- kinds of a megabyte each could not be sent.
id, state, left(queue, 2001) as queue, left(kind, 2001) as kind, left(key, 2001) as key,
priority, attempt, max_attempts, crashes, epoch, version,
created_at, run_at, started_at, finished_at, deadline_at, worker_id, left(correlation_id, 2001) as correlation_id,
left(traceparent, 2001) as traceparent, left(tracestate, 2001) as tracestate, parent_id, flow_id,
array(select left(word, 401) from unnest(search) as word limit 10) as search, left(reason, 2001) as reason,
attempts_before, replaces, replaced_by, discarded_at, suspect, cancel_at
