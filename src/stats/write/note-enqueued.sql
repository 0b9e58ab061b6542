-- Write how many jobs a client stored; through a function, because a producer may read nothing. Gives the time.
select (extract(epoch from stint.note_enqueued(:process::uuid, :flush::integer, :rows::text::jsonb)) * 1000)::float8 as now
