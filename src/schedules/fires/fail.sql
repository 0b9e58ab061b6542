-- Store why a schedule could not be fired, and when to try again: after 5 seconds, doubled each time, up to an hour.
update stint.schedule
   set failures   = least(greatest(failures, 0), 2147483646) + 1,
       last_error = left(:error::text, 2000),
       retry_at   = stint.now() + least(3600, 5 * power(2, least(greatest(failures, 0), 20))) * interval '1 second',
       turn       = case when turn < 9223372036854775807 then turn + 1 else 1 end
 where name = :name::text
   and turn = :turn::bigint
returning name
