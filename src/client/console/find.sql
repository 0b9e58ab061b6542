-- What was answered to this key, where that is still kept; without a status it is being answered.
select status,
       headers,
       body,
       asked,
       digest = :digest::bytea as is_same
  from stint.http_reply
 where scope      = :scope
   and key        = :key
   and expires_at > stint.now()
