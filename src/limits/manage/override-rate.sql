-- Override the tokens of a rate until a time, unless it has changed since it was read. What its buckets had gained at the old
-- speed up to now is counted at the new one: at most a full bucket.
update stint.rate as rule
   set override_tokens = :amount::float8,
       override_until  = :until::timestamptz,
       override_by     = :by::text,
       override_reason = :reason::text
 where rule.name = :name::text
   and hashtextextended(rule::text, 0)::text = :version::text
returning rule.name
