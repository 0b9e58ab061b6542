-- Store the next state that an operation reaches by itself, and the reason.
update stint.operation
   set state         = :state::text,
       note          = :note::text,
       paused_in     = case when :state::text = 'paused' then state end,
       canary_result = coalesce(:canaryResult::jsonb, canary_result),
       canary_at     = case when :state::text = 'canary' then stint.now() else canary_at end,
       finished_at   = case when :state::text in ('stopped', 'done') then stint.now() end
 where id = :id::uuid
