-- Those of some keys in the store that no committed job ever named.
select key
  from unnest(:keys::text[]) as stored (key)
 where not exists (select from stint.blob where blob.key = stored.key)
