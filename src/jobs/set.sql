-- Change the settings of a queue. A setting that is not given is not changed.
insert into stint.queue as setting (name, keep_finished, keep_dead)
values (
  :name::text,
  case when :hasKeep::boolean then :keepMs::float8 * interval '1 millisecond' end,
  case when :hasKeepDead::boolean then :keepDeadMs::float8 * interval '1 millisecond' end
)
on conflict on constraint queue_pkey do update
   set keep_finished = case when :hasKeep::boolean then excluded.keep_finished else setting.keep_finished end,
       keep_dead     = case when :hasKeepDead::boolean then excluded.keep_dead else setting.keep_dead end,
       updated_at    = stint.now()
