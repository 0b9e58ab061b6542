-- The groups whose fingerprint begins so: a few, enough to tell one from several.
select fingerprint
  from stint.error_group
 where starts_with(fingerprint, :beginning::text)
 order by fingerprint
 limit 4
