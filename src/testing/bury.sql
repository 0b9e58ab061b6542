-- Mark the workers as lost whose lease has run out by the clock of this test database.
--
-- Unlike src/jobs/leases/bury.sql it gives no grace after a start of the server: the server of a test has often just
-- been started, and no time passes that a worker could not use for a heartbeat.
update stint.worker
   set lost_at = stint.now()
 where lost_at is null
   and lease_until < stint.now()
