-- Note with a new job which dead letter was edited into it, in the transaction that stored it, so no worker has it yet. In a
-- flow it takes the place of the dead letter. A repeat after a lost reply changes nothing.
with back as (
  update stint.job
     set replaces = dead.id,
         flow_id  = dead.flow_id,
         node     = dead.node,
         member   = dead.member
    from stint.dead
   where job.id = :id::uuid
     and job.replaces is null
     and dead.id = :replaces::uuid
  returning job.flow_id, job.node, job.member
),
-- include: jobs/replayed-members
select from back
