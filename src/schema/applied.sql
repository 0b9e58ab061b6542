-- Which migrations this schema has, oldest first.
select version, name, applied_at
  from stint.migration
 order by version
