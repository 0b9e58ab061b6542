-- The moment up to which an operation takes jobs. JavaScript keeps it by the millisecond, and what was stored within the
-- last one was there before: it is the end of this one.
select date_trunc('milliseconds', stint.now()) + interval '1 millisecond' as "asOf"
