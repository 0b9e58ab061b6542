-- Wake a job that is parked because its steps have changed.
--
-- With :accept, records that the new code does not ask for no longer park it: none of them counts as one that began alone, so
-- the order of the calls is free. A record of another type than the call that parked the job is dropped: the call is made anew.
with woken as (
  update stint.job
     set state  = 'ready',
         run_at = stint.now()
   where id = :id::uuid
     and state::text = 'waiting'
     and waits ? 'parked'
  returning id, waits #>> '{parked,asked,name}' as name, waits #>> '{parked,asked,n}' as n
), freed as (
  update stint.step
     set beside = true
    from woken
   where :accept::boolean
     and step.job_id = woken.id
     and not step.beside
     and (step.name, step.n::text) is distinct from (woken.name, woken.n)
), dropped as (
  delete from stint.step
   using woken
   where :accept::boolean
     and step.job_id = woken.id
     and step.name = woken.name
     and step.n::text = woken.n
)
select id from woken
