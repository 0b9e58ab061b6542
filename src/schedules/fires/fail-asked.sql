-- Store why the job of an asked fire could not be made. The fire can be asked for again.
update stint.fire
   set outcome = 'missed',
       job_id  = null,
       reason  = left(:reason::text, 2000),
       at      = stint.now()
 where schedule = :name::text
   and job_id = :jobId::uuid
   and outcome = 'asked'
returning fire_at
