-- Close a queue for enqueues. A queue that is closed keeps its time and gets the new reason.
insert into stint.queue as closed (name, takes_jobs, closed_at, close_reason)
values (:name::text, false, stint.now(), :reason::text)
on conflict on constraint queue_pkey do update
   set takes_jobs   = false,
       closed_at    = case when closed.takes_jobs then excluded.closed_at else coalesce(closed.closed_at, excluded.closed_at) end,
       close_reason = excluded.close_reason,
       updated_at   = stint.now()
