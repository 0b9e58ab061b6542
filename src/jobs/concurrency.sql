-- The concurrency that holds for a queue now instead of that in the workers' code. An end that no client would store is shown as
-- none: a driver reads years of up to 275,760 only.
select concurrency, nullif(concurrency_until, 'infinity') as until, concurrency_reason as reason
  from stint.queue
 where name = :queue::text
   and concurrency is not null
   and concurrency_until > stint.now()
