-- Change how soon a job runs among those that are due; for a running job this has no effect.
update stint.job
   set priority = :priority::smallint
 where id = :id::uuid
   and state <> 'running'
returning id
