-- Note an error that a job's code threw after its attempt was over. Without the lease, so that settled.sql does not take
-- this row for a settle.
insert into stint.attempt (job_id, epoch, attempt, outcome, worker_id, started_at, ended_at, error, fingerprint)
values (:id::uuid, :epoch::integer, :attempt::integer, 'thrown-late', :worker::uuid, null, stint.now(),
        :error::text::jsonb, :fingerprint::text)
