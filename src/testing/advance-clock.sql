-- Move the clock of this test database on.
update stint_test.clock
   set at = stint.now() + :ms::float8 * interval '1 millisecond'
returning at
