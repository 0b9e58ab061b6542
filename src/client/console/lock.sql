-- Whether this transaction alone answers the request. False at once if another one with the same key is under way. Only
-- a caller that lost the reply to its own commit (:isRepeat) waits until that transaction has ended.
select case when :isRepeat::boolean then pg_advisory_xact_lock(lock.id) is not null
            else pg_try_advisory_xact_lock(lock.id)
        end as is_ours
  from (select hashtextextended('stint:http_reply:' || :scope || chr(10) || :key, 0) as id) as lock
