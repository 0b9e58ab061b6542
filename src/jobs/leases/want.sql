-- Say what a live worker is to do: pause, drain, or (null) work. It reads this with its next survey. No row: it is not live.
update stint.worker
   set wanted = :wanted::text::jsonb
 where id = :worker::uuid
   and lost_at is null
returning id
