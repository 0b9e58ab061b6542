-- Where workers find the jobs of a flow that may start.
select distinct queue, priority, key
  from stint.job
 where flow_id = :flow::uuid
   and state::text = 'ready'
