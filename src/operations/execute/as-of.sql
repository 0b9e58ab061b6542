-- The time up to which an operation takes jobs. JavaScript keeps milliseconds; jobs stored within the current millisecond
-- count as earlier, so the time is rounded up to its end.
select date_trunc('milliseconds', stint.now()) + interval '1 millisecond' as "asOf"
