-- Suspend running jobs, where their lease still holds (0017_waiting.sql). Returns each that was suspended, and jobs that are ready.
select type, id, queue, priority, key, "runAt"
  from stint.suspend(:items::text::jsonb, :worker::uuid)
 where (select set_config('lock_timeout', coalesce(:lockMs::text, current_setting('lock_timeout')), true)) is not null
