-- A person pauses or aborts an operation. The statement waits for the current batch; no batch follows.
update stint.operation
   set state       = :state::text,
       paused_in   = case when :state::text = 'paused' then state end,
       note        = :note::text,
       finished_at = case when :state::text = 'aborted' then stint.now() end
 where id = :id::uuid
   and state = any(:from::text[])
returning id
