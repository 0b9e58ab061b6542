-- Whether this transaction alone answers the request: one with the same key that is under way has it, and nobody waits.
select pg_try_advisory_xact_lock(hashtextextended('stint:http_reply:' || :scope || chr(10) || :key, 0)) as is_ours
