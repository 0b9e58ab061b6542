-- Release a key that was taken and got no answer, so that a repeated request does the work.
delete from stint.http_reply
 where scope  = :scope
   and key    = :key
   and status is null
