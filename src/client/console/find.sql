-- The kept answer for this key, if any; without a status, the request is still being answered.
select status,
       headers,
       body,
       asked,
       digest = :digest::bytea as is_same
  from stint.http_reply
 where scope      = :scope
   and key        = :key
   and expires_at > stint.now()
