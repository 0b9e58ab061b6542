-- Store many jobs that set only queue, kind, key, priority and input: a third faster than enqueue.sql, because COPY
-- writes whole pages. COPY computes nothing, so a job with a time or a deadline cannot be stored this way.
copy stint.job (id, queue, kind, key, priority, max_attempts, version, input) from stdin
