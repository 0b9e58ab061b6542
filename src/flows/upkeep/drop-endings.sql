-- Remove endings of flows that do not exist: nothing would count them.
delete from stint.flow_ending
 where flow_id = any(:flows::uuid[])
   and not exists (select from stint.flow where flow.id = flow_ending.flow_id)
