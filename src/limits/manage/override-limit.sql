-- Override the maximum of a limit until a time, unless it has changed since it was read.
update stint.concurrency_limit as rule
   set override_max    = :amount::integer,
       override_until  = :until::timestamptz,
       override_by     = :by::text,
       override_reason = :reason::text
 where rule.name = :name::text
   and hashtextextended(rule::text, 0)::text = :version::text
returning rule.name
