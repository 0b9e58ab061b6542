-- Override the concurrency of a queue in each worker until a time; without a concurrency, end the override.
insert into stint.queue as stored (name, concurrency, concurrency_until, concurrency_reason)
values (:queue::text, :concurrency::integer, coalesce(:until::timestamptz, 'infinity'), :reason::text)
on conflict on constraint queue_pkey do update
   set concurrency        = excluded.concurrency,
       concurrency_until  = excluded.concurrency_until,
       concurrency_reason = excluded.concurrency_reason
