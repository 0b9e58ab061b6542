-- Change how soon a job runs among those that are due; a running one has no use for it.
update stint.job
   set priority = :priority::smallint
 where id = :id::uuid
   and state <> 'running'
returning id
