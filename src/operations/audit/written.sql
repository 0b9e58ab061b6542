-- Whether a note is there: then its act was committed with it.
select true as is_written
  from stint.audit
 where id = :id::uuid
