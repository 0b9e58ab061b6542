-- Every queue that has a rule or takes no jobs, and how full the asked ones are. It counts those that were not counted lately.
select queue, takes_jobs as "takesJobs", closed_at as "closedAt", close_reason as "closeReason", max_depth as "maxDepth",
       max_age_ms as "maxAgeMs", key_max_depth as "keyMaxDepth", when_full as "whenFull", is_broken as "isBroken", depth,
       is_estimate as "isEstimate", oldest_ms as "oldestMs", keys, counted_at as "countedAt", counted_ago_ms as "countedAgoMs",
       refused
  from stint.pressure_of(:queues::text[])
