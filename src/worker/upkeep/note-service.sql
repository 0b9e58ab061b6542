-- Note how a pass of a service went, for people and for the next leader. An error leaves the last success as it was.
insert into stint.service as known (name, last_ok_at, took_ms, last_error, last_error_at)
values (
  :name::text,
  case when :error::text is null then stint.now() end,
  case when :error::text is null then :tookMs::integer end,
  :error::text,
  case when :error::text is not null then stint.now() end
)
on conflict on constraint service_pkey do update
   set last_ok_at    = coalesce(excluded.last_ok_at, known.last_ok_at),
       took_ms       = coalesce(excluded.took_ms, known.took_ms),
       last_error    = excluded.last_error,
       last_error_at = coalesce(excluded.last_error_at, known.last_error_at)
