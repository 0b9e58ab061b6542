-- Change how many jobs a second an operation acts on.
update stint.operation
   set settings = settings || jsonb_build_object('pace', :pace::float8)
 where id = :id::uuid
   and state in ('pending', 'canary', 'ramping', 'paused')
returning id
