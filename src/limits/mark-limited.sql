-- Say of these queues whether a limit or a rate covers them. From the commit on, plain claims take nothing of a limited queue.
insert into stint.queue as stored (name, is_limited)
select asked.name,
       exists (select from stint.limit_cover as cover where cover.queue = asked.name and cover.type in ('concurrency', 'rate'))
  from unnest(:queues::text[]) as asked (name)
on conflict on constraint queue_pkey do update
   set is_limited = excluded.is_limited
 where stored.is_limited <> excluded.is_limited
