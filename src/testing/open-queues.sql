-- The queues with jobs that have not ended, for a drain to serve.
select distinct queue
  from stint.job
 order by queue
