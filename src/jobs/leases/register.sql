-- A new worker, once per boot, before its first claim. Its lease begins now; the answer is the time.
insert into stint.worker (id, lease_until, about)
values (:worker::uuid, stint.now() + :leaseMs::float8 * interval '1 millisecond', :about::text::jsonb)
returning (extract(epoch from stint.now()) * 1000)::float8 as now
