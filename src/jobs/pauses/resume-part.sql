-- End the pause of a kind or a key of a queue; the other one is ''. Returns a row if it was paused.
with resumed as (
  delete from stint.pause
   where queue = :queue::text
     and kind = :kind::text
     and key = :key::text
  returning queue, paused_until
)
select queue
  from resumed
 where paused_until > stint.now()
