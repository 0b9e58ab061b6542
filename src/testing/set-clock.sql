-- Set the clock of this test database. It stands still at that time.
update stint_test.clock
   set at = :at::timestamptz
returning at
