-- Note that something was thrown in the name of a job after its attempt was over. Without the lease: no settle is to be
-- told from it.
insert into stint.attempt (job_id, epoch, attempt, outcome, worker_id, started_at, ended_at, error, fingerprint)
values (:id::uuid, :epoch::integer, :attempt::integer, 'thrown-late', :worker::uuid, null, stint.now(),
        :error::text::jsonb, :fingerprint::text)
