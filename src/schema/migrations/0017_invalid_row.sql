-- One more reason for a dead letter: `invalid-row`, a row that no worker could start. Logins that may insert rows can
-- write what no contract allows; such a job dies alone, and its error names the column.
--
-- Lock: access exclusive on dead, while its rows are read once.
-- breaking: no
alter table stint.dead
  drop constraint dead_reason,
  add constraint dead_reason check (
    reason in ('exhausted', 'permanent', 'quarantined', 'expired', 'discarded-contract', 'invalid-row'));
