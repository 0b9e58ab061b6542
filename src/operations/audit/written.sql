-- Whether an audit entry exists: if so, its act was committed with it.
select true as is_written
  from stint.audit
 where id = :id::uuid
