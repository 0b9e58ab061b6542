-- Store many jobs that say nothing of themselves but queue, kind, key, priority and input: a third faster than
-- enqueue.sql, for COPY writes whole pages. It computes nothing, so a job with a time or a deadline cannot come this way.
copy stint.job (id, queue, kind, key, priority, max_attempts, version, input) from stdin
