-- A schedule could not be fired: it says so, and is left alone for a while, longer each time.
update stint.schedule
   set failures   = failures + 1,
       last_error = left(:error::text, 2000),
       retry_at   = stint.now() + least(3600, 5 * power(2, least(failures, 20))) * interval '1 second',
       turn       = turn + 1
 where name = :name::text
   and turn = :turn::bigint
returning name
