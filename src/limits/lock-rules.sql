-- One process at a time changes rules, for the rest of its transaction.
select pg_advisory_xact_lock(hashtextextended('stint.rules', 0))
