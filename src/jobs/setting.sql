-- The settings of one queue, with the defaults. There is always a row.
select setting.name, extract(epoch from setting.keep_finished)::float8 * 1000 as keep_ms,
       extract(epoch from setting.keep_dead)::float8 * 1000 as keep_dead_ms, setting.updated_at
  from (select :name::text collate "C" as name) as asked
  left join stint.queue as setting
    on setting.name = asked.name
