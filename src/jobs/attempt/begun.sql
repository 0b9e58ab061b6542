-- Note that the handlers of these jobs have begun, where their lease still holds: if their worker is lost now, the sweep
-- counts a crash for each of them.
--
-- Locked rows are skipped: a handler inside ctx.tx holds its own row for as long as it likes.
update stint.job
   set begun_lease = lease_id
 where id = any(array(
         select id
           from stint.job
          where id       = any(:ids::uuid[])
            and lease_id = any(:leaseIds::uuid[])
            for no key update skip locked))
returning id
