-- Take an effect's key for this transaction. Another caller with the same key waits here until we commit or roll back.
-- No row: the effect happened before.
insert into stint.effect as taken (scope, key, job_id, expires_at)
values (:scope::text, :key::text, :id::uuid, stint.now() + :holdMs::float8 * interval '1 millisecond')
on conflict (scope, key) do update
   set job_id = excluded.job_id, result = null, created_at = stint.now(), expires_at = excluded.expires_at
 where taken.expires_at <= stint.now()
returning key
