-- Note with a new job which dead letter was edited into it; in the transaction that stored it, so no worker has it yet.
update stint.job
   set replaces = :replaces::uuid
 where id = :id::uuid
