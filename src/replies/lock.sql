-- Whether this transaction alone answers the request: one with the same key that is under way has it, and nobody waits.
-- Only who has lost the reply to its own commit waits for the end of that.
select case when :isRepeat::boolean then pg_advisory_xact_lock(lock.id) is not null
            else pg_try_advisory_xact_lock(lock.id)
        end as is_ours
  from (select hashtextextended('stint:http_reply:' || :scope || chr(10) || :key, 0) as id) as lock
