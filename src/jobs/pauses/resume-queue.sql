-- End the pause of a queue. Returns a row if it was paused.
with paused as (
  select name, paused_until > stint.now() as is_paused
    from stint.queue
   where name = :queue::text
     and paused_until is not null
     for update
), resumed as (
  update stint.queue
     set paused_at    = null,
         paused_until = null,
         paused_by    = null,
         pause_reason = null
    from paused
   where queue.name = paused.name
)
select name
  from paused
 where is_paused
