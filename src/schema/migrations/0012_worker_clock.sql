-- How far the clock of a worker is from the database's, as the worker measures it by its heartbeats: whoever asks the
-- doctor knows only the clock of its own machine.
--
-- Lock: access exclusive on worker for a moment; the columns are added without rewriting it.
-- breaking: no
alter table stint.worker
  add column clock_ahead_ms  double precision,                        -- of the database's; below zero it is behind
  add column clock_error_ms  double precision;                        -- half the round trip by which it was measured
