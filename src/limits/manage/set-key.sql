-- Store the rule of one key of a limit. Members that are not given become none.
insert into stint.limit_key as rule (name, key, max, weight, tier, until, by, reason)
values (:name::text, :key::text, :max::integer, :weight::integer, :tier::text, :until::timestamptz, :by::text, :reason::text)
on conflict on constraint limit_key_pkey do update
   set max        = excluded.max,
       weight     = excluded.weight,
       tier       = excluded.tier,
       until      = excluded.until,
       by         = excluded.by,
       reason     = excluded.reason,
       updated_at = stint.now()
returning rule.name
