-- A new worker, once per boot, before its first claim. Its lease begins now.
insert into stint.worker (id, lease_until, about)
values (:worker::uuid, stint.now() + :leaseMs::float8 * interval '1 millisecond', :about::text::jsonb)
