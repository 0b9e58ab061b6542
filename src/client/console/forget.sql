-- Release a key that was taken and got no answer, so that a repeat is tried anew.
delete from stint.http_reply
 where scope  = :scope
   and key    = :key
   and status is null
