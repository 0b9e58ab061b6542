-- Whether a claim could lock the row of a ready job now. Only in a transaction that is rolled back.
select id
  from stint.job
 where id = :id::uuid
   and state = 'ready'
   for update skip locked
